import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

import { codeBlocksOf, ROOT } from '../docs/markdown.ts';
import { type App, startApp, testEnvironment } from '../harness/app.ts';

const run = promisify(execFile);

// In the project, because generated code imports its packages.
const FOLDER = join(ROOT, 'dist', 'generated-clients');
const KEY = 'a-key-of-this-test';

const GENERATORS: Readonly<Record<string, string>> = {
  'openapi-typescript': 'test/http/generators/node_modules/openapi-typescript/bin/cli.js',
  '@hey-api/openapi-ts': 'test/http/generators/node_modules/@hey-api/openapi-ts/bin/run.js',
  orval: 'node_modules/orval/dist/bin/orval.mjs',
};

let app: App;

/** Runs a generator by the command in the first line of a code block, on the description of this test's app. */
const generate = async (command: string): Promise<void> => {
  const [name = '', ...options] = command.replace('http://localhost:7071', app.url).split(' ');
  await run(process.execPath, [join(ROOT, GENERATORS[name] ?? name), ...options], { cwd: FOLDER });
};

const programs = codeBlocksOf('src/http/clients.md', 'ts').flatMap((code) => {
  const command = /^\/\/ npx (.+)\n/.exec(code)?.[1];
  return command === undefined ? [] : [{ command, code, name: (command.split(' ')[0] ?? '').replaceAll(/\W+/g, '-') }];
});

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  // No number is dialed: no allowed number begins like that.
  app = await startApp({ environment: testEnvironment({ PHONE_ALLOWED_PREFIXES: '+44' }), functionKey: KEY });
  await writeFile(join(FOLDER, 'package.json'), JSON.stringify({ type: 'module' }));
  const [config = ''] = codeBlocksOf('src/http/clients.md', 'js');
  await writeFile(join(FOLDER, 'orval.config.mjs'), config.replaceAll('http://localhost:7071', app.url));
  const checks = { input: `${app.url}/api/openapi.json`, output: { client: 'zod', target: './checks.ts' } };
  await writeFile(join(FOLDER, 'checks.config.mjs'), `export default ${JSON.stringify({ checks })};`);
  const compilerOptions = {
    module: 'preserve',
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  };
  await writeFile(join(FOLDER, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: programs.map(fileOf) }));
  await Promise.all(programs.map(async ({ name, code }) => writeFile(join(FOLDER, fileOf({ name })), code)));
  await Promise.all([...programs.map(({ command }) => command), 'orval --config checks.config.mjs'].map(generate));
});
afterAll(async () => {
  await app.stop();
  await rm(FOLDER, { recursive: true, force: true });
});

const fileOf = ({ name }: { readonly name: string }): string => `${name}-program.ts`;

it('the code of the page compiles with each generated client, without a cast', async () => {
  expect(programs.map(({ name }) => name)).toEqual(['openapi-typescript', '-hey-api-openapi-ts', 'orval']);
  for (const { code } of programs) expect(code).not.toMatch(/\bas\b(?! const)|\bany\b|@ts-|[\w)\]]!/);
  await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', FOLDER]).catch((error: unknown) => {
    throw new Error(z.object({ stdout: z.string() }).parse(error).stdout);
  });
});

it.each(programs)('$name: it records an event, reads counts, and is told why nobody is called', async ({ name }) => {
  const bundled = join(FOLDER, `${name}.mjs`);
  await build({
    entryPoints: [join(FOLDER, fileOf({ name }))],
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: bundled,
  });
  const env = { ...process.env, SERVICE_URL: app.url, FUNCTION_KEY: KEY };
  const { stdout, stderr } = await run(process.execPath, [bundled], { env });
  expect(stdout).toMatch(/^1\nridge-04 \d+\n(?:\d+\n)?$/);
  expect(stderr).toContain('nobody_allowed');
});

it('checks that orval makes for zod take what the service takes', async () => {
  const outfile = join(FOLDER, 'checks.mjs');
  await build({ entryPoints: [join(FOLDER, 'checks.ts')], bundle: true, format: 'esm', platform: 'node', outfile });
  const { SendNotificationBody } = z
    .looseObject({ SendNotificationBody: z.custom<z.ZodType>() })
    .parse(await import(/* @vite-ignore */ pathToFileURL(outfile).href));
  const one = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] };
  for (const reference of ['ridge-04', 'https://example.org/?a=b#c', 'Камера 4', 'हिमालय', '山火事 🔥', 'a — b “c”']) {
    expect([reference, SendNotificationBody.safeParse({ ...one, reference }).success]).toEqual([reference, true]);
  }
  const waves = { ...one, recipients: [['+12065550100'], ['+12065550101']], confirm: true, wave_seconds: 60 };
  expect(SendNotificationBody.safeParse(waves).success).toBe(true);
  expect(SendNotificationBody.safeParse({ ...waves, confirm: false }).success).toBe(false);
});
