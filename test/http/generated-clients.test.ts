import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

import { pathsOf, readText, ROOT } from '../docs/markdown.ts';
import { type App, startApp, testEnvironment } from '../harness/app.ts';

const run = promisify(execFile);

// In the project, because generated code imports its packages.
const FOLDER = join(ROOT, 'dist', 'generated-clients');
const KEY = 'a-key-of-this-test';

/** The generators, with their programs. npm decides in which of the folders above each package is. */
const GENERATORS: Readonly<Record<string, string>> = {
  'openapi-typescript': 'bin/cli.js',
  '@hey-api/openapi-ts': 'bin/run.js',
  orval: 'dist/bin/orval.mjs',
};
const programOf = (generator: string): string =>
  join(dirname(findPackageJSON(generator, import.meta.resolve('./generators/')) ?? ''), GENERATORS[generator] ?? '');

let app: App;

const PROGRAMS = 'infra/clients/generated';

/** The programs of the folder, each with the command in its first line that generates its client. */
const programs = pathsOf(`${PROGRAMS}/*.ts`).map((path, index) => {
  const code = readText(path);
  const [, generator = '', options = ''] = /^\/\/ npx (\S+) (.+)\n/.exec(code) ?? [];
  return { generator, options: options.split(' '), code, name: `program-${index}` };
});

/** Generates the client of a program from the description of this test's app, and writes the program to a file. */
const generate = async ({ generator, options, code, name }: (typeof programs)[number]): Promise<void> => {
  const args = options.map((option) => option.replace('http://localhost:7071', app.url));
  await run(process.execPath, [programOf(generator), ...args], { cwd: FOLDER });
  await writeFile(join(FOLDER, `${name}.ts`), code);
};

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  // No number is dialed: no allowed number begins like that.
  app = await startApp({ environment: testEnvironment({ PHONE_ALLOWED_PREFIXES: '+44' }), functionKey: KEY });
  await writeFile(join(FOLDER, 'package.json'), JSON.stringify({ type: 'module' }));
  const config = readText(`${PROGRAMS}/orval.config.mjs`);
  await writeFile(join(FOLDER, 'orval.config.mjs'), config.replaceAll('http://localhost:7071', app.url));
  await Promise.all(programs.map(generate));
});
afterAll(async () => {
  await app.stop();
  await rm(FOLDER, { recursive: true, force: true });
});

it('each program compiles with its generated client, without a cast', async () => {
  expect(programs.map(({ generator }) => generator).toSorted()).toEqual(Object.keys(GENERATORS).toSorted());
  for (const { code } of programs) expect(code).not.toMatch(/\bas\b(?! const)|\bany\b|@ts-|[\w)\]]!/);
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--skipLibCheck', '--types', 'node', '--ignoreConfig'];
  const modern = [
    '--module',
    'preserve',
    '--lib',
    'es2023,dom,dom.iterable',
    '--allowImportingTsExtensions',
    '--noEmit',
  ];
  const files = programs.map(({ name }) => `${name}.ts`);
  const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), ...strict, ...modern, ...files];
  await run(process.execPath, args, { cwd: FOLDER }).catch((error: unknown) => {
    throw new Error(z.object({ stdout: z.string() }).parse(error).stdout);
  });
});

it.each(programs)(
  '$generator: it records an event, reads counts, and is told why nobody is called',
  async ({ name }) => {
    const [entry, outfile] = [join(FOLDER, `${name}.ts`), join(FOLDER, `${name}.mjs`)];
    await build({ entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', outfile });
    const env = { ...process.env, SERVICE_URL: app.url, FUNCTION_KEY: KEY };
    const { stdout, stderr } = await run(process.execPath, [outfile], { env });
    expect(stdout).toMatch(/^1\nridge-04 \d+\n(?:\d+\n)?$/);
    expect(stderr).toContain('nobody_allowed');
  },
);
