import { once } from 'node:events';
import { request as httpRequest } from 'node:http';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { type App, startApp, testEnvironment } from '../harness/app.ts';

let app: App;
beforeAll(async () => {
  app = await startApp({ environment: testEnvironment() });
});
afterAll(() => app.stop());

it('a client that leaves in the middle of its body wakes nobody', async () => {
  const outgoing = httpRequest(`${app.url}/api/AnomalyCallback`, {
    method: 'POST',
    headers: { 'content-length': 1_000 },
  });
  outgoing.once('error', () => undefined).write('[');
  await once(outgoing, 'socket');
  await expect.poll(async () => (await fetch(`${app.url}/api/health`)).status).toBe(200);
  await new Promise((closed) => void outgoing.once('close', closed).destroy());
  await (await fetch(`${app.url}/api/health`)).text();
  expect(app.output()).not.toMatch(/unexpected error|failed/);
});
