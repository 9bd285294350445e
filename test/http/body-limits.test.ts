import { once } from 'node:events';
import { request as httpRequest } from 'node:http';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { type App, startApp, testEnvironment } from '../harness/app.ts';

let app: App;
beforeAll(async () => {
  app = await startApp({ environment: testEnvironment() });
});
afterAll(() => app.stop());

/** Begins a post to a callback path, and does not end its body. */
const beginPost = (start: string, headers: Readonly<Record<string, number>> = {}) => {
  const outgoing = httpRequest(`${app.url}/api/AnomalyCallback`, { method: 'POST', headers });
  outgoing.once('error', () => undefined).write(start);
  return outgoing;
};

it.each([
  ['announced', '[', { 'content-length': 30_000_000 }],
  ['sent', 'x'.repeat(2_000_000), {}],
])('a post of which too much is %s is refused before its body has come: it is not held', async (_, start, headers) => {
  const outgoing = beginPost(start, headers);
  const [{ statusCode }] = await once(outgoing, 'response');
  outgoing.destroy();
  expect(statusCode).toBe(413);
});

it('a client that leaves in the middle of its body wakes nobody', async () => {
  const outgoing = beginPost('[', { 'content-length': 1_000 });
  await once(outgoing, 'socket');
  await expect.poll(async () => (await fetch(`${app.url}/api/health`)).status).toBe(200);
  await new Promise((closed) => void outgoing.once('close', closed).destroy());
  await (await fetch(`${app.url}/api/health`)).text();
  expect(app.output()).not.toMatch(/unexpected error|failed/);
});
