import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { type Browser, chromium } from 'playwright-core';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PACKAGE = join(ROOT, 'node_modules/@sparticuz/chromium');

/**
 * Starts the browser for tests of the page: on Linux x64 the Chromium of an npm package with its own libraries and fonts, elsewhere the installed
 * Chrome.
 *
 * @throws {Error} without a browser: tests of the page are never skipped
 */
export const launchBrowser = async (): Promise<Browser> => {
  if (process.platform === 'linux' && process.arch === 'x64') return launchUnpacked(await unpacked());
  try {
    return await chromium.launch({ channel: 'chrome' });
  } catch (error) {
    throw new Error(
      'Tests of the page need a real browser. On this platform none comes with npm: install Google Chrome.',
      { cause: error },
    );
  }
};

/** Uses no flags of the package: some allow a page more than a reader's browser does. */
const launchUnpacked = async (directory: string): Promise<Browser> => {
  const libraries = join(directory, 'al2023/lib');
  const inherited = process.env['LD_LIBRARY_PATH'];
  return chromium.launch({
    executablePath: join(directory, 'chromium'),
    // A container often allows no sandbox; the only pages that are opened are the project's own.
    chromiumSandbox: false,
    args: ['--font-render-hinting=none'],
    env: {
      ...process.env,
      FONTCONFIG_PATH: join(directory, 'fonts'),
      LD_LIBRARY_PATH: inherited === undefined ? libraries : `${inherited}:${libraries}`,
    },
  });
};

/** The package's archives, unpacked once into the cache of node_modules. */
const unpacked = async (): Promise<string> => {
  const manifest: unknown = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'));
  const { version } = z.object({ version: z.string() }).parse(manifest);
  const cache = join(ROOT, 'node_modules/.cache');
  const directory = join(cache, `chromium-${version}`);
  if (await exists(join(directory, 'chromium'))) return directory;
  await mkdir(cache, { recursive: true });
  // Unpacked elsewhere, then renamed: two test files may unpack at the same time, and must not start half a browser.
  const making = await mkdtemp(join(cache, 'chromium-'));
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', UNPACK], {
      cwd: ROOT,
      // It unpacks into the temporary directory, and its libraries only on a machine of AWS Lambda.
      env: { ...process.env, TMPDIR: making, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' },
    });
    await writeFile(join(making, 'fonts/fonts.conf'), fontsConfiguration(directory));
    await rename(making, directory).catch(async (error: unknown) => {
      if (!(await exists(join(directory, 'chromium')))) throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return directory;
};

const UNPACK = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";

/** The fonts of the package and of the machine. */
const fontsConfiguration = (directory: string): string =>
  [
    '<?xml version="1.0"?>',
    '<!DOCTYPE fontconfig SYSTEM "fonts.dtd">',
    '<fontconfig>',
    `  <dir>${join(directory, 'fonts/fonts')}</dir>`,
    '  <dir>/usr/share/fonts</dir>',
    `  <cachedir>${join(directory, 'fonts-cache')}</cachedir>`,
    '</fontconfig>',
    '',
  ].join('\n');

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
