import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

import { makePackage } from '../../infra/make-package.ts';
import { type App, startApp, testEnvironment } from '../harness/app.ts';

const KEY = 'package-test-key';

let directory: string;
let app: App;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'package-'));
  await makePackage(join(directory, 'made'));
  // In a directory of its own: a file that is missing from the package is not found elsewhere.
  await cp(join(directory, 'made'), join(directory, 'deployed'), { recursive: true });
  const deployed = join(directory, 'deployed');
  const manifest: unknown = JSON.parse(await readFile(join(deployed, 'package.json'), 'utf8'));
  app = await startApp({
    bundle: { path: join(deployed, z.object({ main: z.string() }).parse(manifest).main) },
    hostJson: join(deployed, 'host.json'),
    cwd: deployed,
    functionKey: KEY,
    environment: testEnvironment(),
  });
});

afterAll(async () => {
  await app.stop();
  await rm(directory, { recursive: true });
});

it('holds the bundle, its map, the page, host.json and a package.json that asks for nothing', async () => {
  const made = join(directory, 'made');
  const manifest: unknown = JSON.parse(await readFile(join(made, 'package.json'), 'utf8'));

  expect((await readdir(made, { recursive: true })).sort()).toEqual(
    ['dist', 'dist/dashboard.html', 'dist/main.cjs', 'dist/main.cjs.map', 'host.json', 'package.json'].map((path) =>
      join(path),
    ),
  );
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).not.toHaveProperty('scripts');
});

it('runs from that folder alone', async () => {
  const health = await fetch(`${app.url}/api/health`);
  const day = await fetch(`${app.url}/api/analytics/day`, { headers: { 'x-functions-key': KEY } });

  expect(health.status).toBe(200);
  expect(day.status).toBe(200);
});

it('asks for the key where the contract says so, and answers with the hardening headers', async () => {
  const refused = await fetch(`${app.url}/api/events`, { method: 'POST', body: '[]' });

  expect(refused.status).toBe(401);
  expect(refused.headers.get('x-content-type-options')).toBe('nosniff');
  expect(refused.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
});

it('answers the page to anybody, with a policy of its own', async () => {
  const page = await fetch(`${app.url}/api/dashboard`);

  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toMatch(/script-src 'sha256-[^']+'; style-src 'sha256-/);
  expect(page.headers.get('strict-transport-security')).toContain('max-age=');
  expect(await page.text()).toBe(await readFile(join(directory, 'deployed/dist/dashboard.html'), 'utf8'));
});

it('has no test calls', async () => {
  const headers = { 'x-functions-key': KEY };

  expect((await fetch(`${app.url}/api/test-call`, { method: 'POST', headers, body: '[]' })).status).toBe(404);
});
