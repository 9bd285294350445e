import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { loadBundle } from '../harness/bundled.ts';
import { cloudEvent } from './cloud-event.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

// In the project: what is generated imports packages of it.
const FOLDER = join(ROOT, 'dist', 'generated-clients');
const KEY = 'a-key-of-this-test';

const tool = async (name: string, ...options: readonly string[]): Promise<void> => {
  await run(process.execPath, [join(ROOT, 'node_modules', name), ...options], { cwd: FOLDER });
};

let app: App;
beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const { description } = loadBundle('debug');
  await writeFile(join(FOLDER, 'api.json'), JSON.stringify(description));
  await writeFile(join(FOLDER, 'package.json'), JSON.stringify({ type: 'module' }));
  const config = { api: { input: './api.json', output: { client: 'zod', mode: 'single', target: './checks.ts' } } };
  await writeFile(join(FOLDER, 'orval.config.mjs'), `export default ${JSON.stringify(config)};`);
  const options = {
    module: 'preserve',
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    strict: true,
    skipLibCheck: true,
  };
  const outputs = { outDir: 'compiled', rootDir: '.', types: [] };
  await writeFile(
    join(FOLDER, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...options, ...outputs },
      include: ['client.ts', 'services/**/*.ts', 'checks.ts'],
    }),
  );
  const codegen = ['--input', 'api.json', '--output', 'services', '--client', 'fetch'];
  await Promise.all([
    tool('oazapfts/dist/cli.js', 'api.json', 'client.ts'),
    tool('openapi-typescript-codegen/bin/index.js', ...codegen),
    tool('orval/dist/bin/orval.mjs', '--config', 'orval.config.mjs'),
  ]);
  const [started] = await Promise.all([
    startApp({ environment: testEnvironment(), functionKey: KEY }),
    tool('typescript/bin/tsc', '-p', 'tsconfig.json'),
  ]);
  app = started;
});
afterAll(async () => {
  await app.stop();
  await rm(FOLDER, { recursive: true, force: true });
});

const compiled = async (file: string): Promise<unknown> =>
  import(/* @vite-ignore */ pathToFileURL(join(FOLDER, 'compiled', file)).href);

const functionSchema = z.custom<(...values: unknown[]) => unknown>((value) => typeof value === 'function');

it('a client that oazapfts makes records events and reads counts', async () => {
  const client = z
    .looseObject({ defaults: z.custom<object>(), recordEvents: functionSchema, getAnalyticsOfDay: functionSchema })
    .parse(await compiled('client.js'));
  Object.assign(client.defaults, { baseUrl: app.url, headers: { 'x-functions-key': KEY } });
  expect(await client.recordEvents([cloudEvent()])).toMatchObject({ status: 200, data: { recorded: 1 } });
  const counts = await client.getAnalyticsOfDay({ date: '2024-02-29' });
  expect(counts).toMatchObject({ status: 200, data: { total_events: 1 } });
});

it('a client that openapi-typescript-codegen makes reads cameras, and is told what is wrong', async () => {
  const outfile = join(FOLDER, 'services.mjs');
  await build({
    entryPoints: [join(FOLDER, 'services', 'index.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile,
  });
  const { OpenAPI, AnalyticsService } = z
    .looseObject({
      OpenAPI: z.custom<object>(),
      AnalyticsService:
        z.custom<Readonly<Record<'getAnalyticsOfCameras', (...values: unknown[]) => Promise<unknown>>>>(),
    })
    .parse(await import(/* @vite-ignore */ pathToFileURL(outfile).href));
  Object.assign(OpenAPI, { BASE: app.url, HEADERS: { 'x-functions-key': KEY } });
  expect(await AnalyticsService.getAnalyticsOfCameras('2024-02-29')).toMatchObject({ total_cameras: 1 });
  const refused = AnalyticsService.getAnalyticsOfCameras('2024-02-30');
  await expect(refused).rejects.toMatchObject({ status: 400, body: { errors: [{ field: 'date' }] } });
});

it('checks that orval makes for zod take what the service takes', async () => {
  const { SendNotificationBody } = z
    .looseObject({ SendNotificationBody: z.custom<z.ZodType>() })
    .parse(await compiled('checks.js'));
  const one = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] };
  for (const reference of ['ridge-04', 'https://example.org/?a=b#c', 'Камера 4', 'हिमालय', '山火事 🔥', 'a — b “c”']) {
    expect([reference, SendNotificationBody.safeParse({ ...one, reference }).success]).toEqual([reference, true]);
  }
  const waves = { ...one, recipients: [['+12065550100'], ['+12065550101']], confirm: true, wave_seconds: 60 };
  expect(SendNotificationBody.safeParse(waves).success).toBe(true);
  expect(SendNotificationBody.safeParse({ ...waves, confirm: false }).success).toBe(false);
});
