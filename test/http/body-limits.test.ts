import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { type App, startApp, testEnvironment } from '../harness/app.ts';

let app: App;
beforeAll(async () => {
  app = await startApp({ environment: testEnvironment() });
});
afterAll(() => app.stop());

const MEBIBYTE = 1_048_576;

/** Posts so many MiB, all of them, and answers with the status. */
const postChunks = async (url: string, mebibytes: number): Promise<unknown> => {
  const outgoing = httpRequest(url, { method: 'POST', headers: { 'content-length': mebibytes * MEBIBYTE } });
  const answered = once(outgoing, 'response');
  const chunk = Buffer.alloc(MEBIBYTE, 'x');
  for (let sent = 0; sent < mebibytes; sent += 1) {
    // Not 'drain': a client's request does not emit it after its answer.
    await new Promise((written) => void outgoing.write(chunk, written));
  }
  outgoing.end();
  const [response] = await answered;
  response.resume();
  await once(response, 'end');
  return response.statusCode;
};

/** The most memory that a process had since {@link forgetPeak}, in MiB; Linux only. */
const peakMebibytes = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

it.skipIf(process.platform !== 'linux')(
  'ten posts of 30 MB at once to a callback path are refused without being held',
  async () => {
    const { pid = 0 } = app;
    const post = async (mebibytes: number) => postChunks(`${app.url}/api/AnomalyCallback`, mebibytes);
    expect(await post(8)).toBe(413);
    forgetPeak(pid);
    const before = peakMebibytes(pid);
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => post(30)));
    expect(new Set(statuses)).toEqual(new Set([413]));
    // Held, they would be 300. What the ten connections take, some 80, depends on when garbage is collected.
    expect(peakMebibytes(pid) - before).toBeLessThan(200);
  },
);

it('a client that leaves in the middle of its body wakes nobody', async () => {
  const outgoing = httpRequest(`${app.url}/api/AnomalyCallback`, {
    method: 'POST',
    headers: { 'content-length': 1000 },
  });
  outgoing.once('error', () => undefined).write('[');
  await once(outgoing, 'socket');
  await expect.poll(async () => (await fetch(`${app.url}/api/health`)).status).toBe(200);
  await new Promise((closed) => void outgoing.once('close', closed).destroy());
  await (await fetch(`${app.url}/api/health`)).text();
  expect(app.output()).not.toMatch(/unexpected error|failed/);
});
