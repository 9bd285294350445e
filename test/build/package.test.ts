import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { makePackage } from '../../infra/build/package.ts';
import { startApp, testEnvironment } from '../harness/app.ts';
import { ownDirectory } from '../harness/own-directory.ts';

const KEY = 'package-test-key';

it('the package runs from its folder alone, with keys, hardening headers and the page, and without test calls', async () => {
  const directory = ownDirectory();
  await makePackage(join(directory, 'made'));
  // In its own directory: a file that is missing from the package is not found elsewhere.
  const deployed = join(directory, 'deployed');
  await cp(join(directory, 'made'), deployed, { recursive: true });
  expect((await readdir(deployed)).sort()).toEqual(['dist', 'host.json', 'package.json']);
  const bundles = ['backup.cjs', 'main.cjs', 'twilio-package.cjs'];
  expect((await readdir(join(deployed, 'dist'))).sort()).toEqual(
    [...bundles, ...bundles.map((name) => `${name}.map`), 'dashboard.html', 'dashboard.html.gz'].sort(),
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
  expect(Object.fromEntries(refused.headers)).toMatchObject({
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  });

  const page = await ask('dashboard');
  expect(page.status).toBe(200);
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringMatching(/script-src 'sha256-[^']+'; style-src 'sha256-/),
    'strict-transport-security': expect.stringContaining('max-age='),
  });
  expect(await page.text()).toBe(await readFile(join(deployed, 'dist/dashboard.html'), 'utf8'));
});
