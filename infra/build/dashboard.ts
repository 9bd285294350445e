import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import { DASHBOARD_FILE, DASHBOARD_GZIP_FILE, policyComment } from '../../src/dashboard/page-file.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BROWSER = fileURLToPath(new URL('../../src/dashboard/browser/', import.meta.url));

/** Browsers from 2024 on: the page's CSS needs `light-dark()`. */
const TARGET = ['chrome123', 'firefox120', 'safari17.5'];

/**
 * Makes the dashboard: one HTML file with its script and its style inside, and in a comment the Content-Security-Policy that allows
 * exactly these; and the same compressed. Debug and release bundles have the same page.
 *
 * @param directory where the bundle is
 * @throws where a source does not compile, or the result could not be put into one file
 */
export const buildDashboard = async (directory: string): Promise<void> => {
  const [template, script, style] = await Promise.all([
    readFile(join(BROWSER, 'page.html'), 'utf8'),
    bundled('main.tsx'),
    bundled('page.css'),
  ]);
  const page = filled(filled(template, 'style', style.text), 'script', script.text);
  const comments = [
    policyComment(contentSecurityPolicy(script.text, style.text)),
    await licenceComment([...style.sources, ...script.sources]),
  ].join('\n');
  // A function, because `replace` interprets a `$` in a text, and licenses may contain this character.
  const html = page.replace('\n', () => `\n${comments}\n`);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, DASHBOARD_FILE), html);
  await writeFile(join(directory, DASHBOARD_GZIP_FILE), gzipSync(html, { level: constants.Z_BEST_COMPRESSION }));
};

/** @returns the text of the one file, and the files that are in it, relative to the repository */
const bundled = async (entry: string) => {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(BROWSER, entry)],
    tsconfig: join(BROWSER, 'tsconfig.json'),
    bundle: true,
    format: 'iife',
    target: TARGET,
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    metafile: true,
    logLevel: 'warning',
  });
  const [output, ...more] = outputFiles;
  if (output === undefined || more.length > 0) throw new Error(`${entry} did not become one file.`);
  return { text: output.text, sources: Object.keys(metafile.inputs) };
};

/** The licenses of the packages in the page. They must be in every copy. */
const licenceComment = async (sources: readonly string[]): Promise<string> => {
  const packages = new Set(
    sources.flatMap((source) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.slice(1) ?? []),
  );
  const notices = [...packages].sort().map(async (name) => {
    const directory = join(ROOT, 'node_modules', name);
    const file = (await readdir(directory)).find((entry) => /^licen[cs]e(\.\w+)?$/i.test(entry));
    if (file === undefined) throw new Error(`${directory} has no licence.`);
    const licence = await readFile(join(directory, file), 'utf8');
    return `${name} is in this page. Its licence:\n\n${licence.trim()}`;
  });
  const text = (await Promise.all(notices)).join('\n\n');
  if (text.includes('--')) throw new Error('A licence cannot stand in an HTML comment as it is.');
  return `<!--\n${text}\n-->`;
};

/** Puts a script or a style into its empty element. */
const filled = (html: string, element: 'script' | 'style', content: string): string => {
  const empty = `<${element}></${element}>`;
  const parts = html.split(empty);
  if (parts.length !== 2) throw new Error(`page.html needs exactly one ${empty}.`);
  // An HTML parser changes these characters, or ends the element at them: the browser would then compute another hash.
  if (/<\/(?:script|style)|<!--|[\r\0]/i.test(content))
    throw new Error(`The ${element} cannot stand in HTML as it is.`);
  return parts.join(`<${element}>${content}</${element}>`);
};

const hashSource = (content: string): string => `'sha256-${createHash('sha256').update(content).digest('base64')}'`;

/**
 * Allows only this script, this style, and requests to the origin of the page. No text becomes markup (Trusted Types), no other page frames
 * this page, and it sends no form.
 */
const contentSecurityPolicy = (script: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src ${hashSource(script)}`,
    `style-src ${hashSource(style)}`,
    "connect-src 'self'",
    // The icon of the tab.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
