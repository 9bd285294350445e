import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { makePackage } from '../../infra/build/package.ts';
import { startApp, testEnvironment } from '../harness/app.ts';
import { ownDirectory } from '../harness/own-directory.ts';

const KEY = 'package-test-key';

it('the package asks for nothing and runs from its folder alone, with keys, hardening headers and the page, and without test calls', async () => {
  const directory = ownDirectory();
  await makePackage(join(directory, 'made'));
  // In its own directory: a file that is missing from the package is not found elsewhere.
  const deployed = join(directory, 'deployed');
  await cp(join(directory, 'made'), deployed, { recursive: true });
  expect((await readdir(deployed, { recursive: true })).sort()).toEqual(
    [
      'dist',
      'dist/backup.cjs',
      'dist/backup.cjs.map',
      'dist/dashboard.html',
      'dist/dashboard.html.gz',
      'dist/main.cjs',
      'dist/main.cjs.map',
      'dist/twilio-package.cjs',
      'dist/twilio-package.cjs.map',
      'host.json',
      'package.json',
    ].map((path) => join(path)),
  );
  const manifest: unknown = JSON.parse(await readFile(join(deployed, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ main: 'dist/main.cjs' });
  for (const absent of ['dependencies', 'scripts']) expect(manifest).not.toHaveProperty(absent);

  const app = await startApp({
    bundle: { path: join(deployed, 'dist/main.cjs') },
    hostJson: join(deployed, 'host.json'),
    cwd: deployed,
    functionKey: KEY,
    environment: testEnvironment(),
  });
  onTestFinished(() => app.stop());
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${app.url}/api/${path}`, init);
  const headers = { 'x-functions-key': KEY };
  expect((await ask('health')).status).toBe(200);
  expect((await ask('analytics/day', { headers })).status).toBe(200);
  expect((await ask('test-call', { method: 'POST', headers, body: '[]' })).status).toBe(404);

  const refused = await ask('events', { method: 'POST', body: '[]' });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('x-content-type-options')).toBe('nosniff');
  expect(refused.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");

  const page = await ask('dashboard');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toMatch(/script-src 'sha256-[^']+'; style-src 'sha256-/);
  expect(page.headers.get('strict-transport-security')).toContain('max-age=');
  expect(await page.text()).toBe(await readFile(join(deployed, 'dist/dashboard.html'), 'utf8'));
});
