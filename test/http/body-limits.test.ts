import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';

import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

import { type App, startApp, testEnvironment } from '../harness/app.ts';

let app: App;
beforeAll(async () => {
  app = await startApp({ environment: testEnvironment() });
});
afterAll(() => app.stop());

const problemSchema = z.object({ detail: z.string() });
const tooLargeSchema = z.object({
  content: z.object({
    'application/problem+json': z.object({ examples: z.object({ problem: z.object({ value: problemSchema }) }) }),
  }),
});
const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.object({ post: z.object({ responses: z.object({ 413: tooLargeSchema.optional() }) }).optional() }),
  ),
});

/** A JSON array of so many bytes. */
const textOf = (bytes: number): string => `["${'x'.repeat(bytes - 4)}"]`;

it(
  'refuses a body from exactly the size on that the description of the endpoint names',
  { timeout: 60_000 },
  async () => {
    const { paths } = documentSchema.parse(await (await fetch(`${app.url}/api/openapi.json`)).json());
    const limited = Object.entries(paths).flatMap(([path, { post }]) => {
      const detail = post?.responses[413]?.content['application/problem+json'].examples.problem.value.detail;
      const most = /(\d+) bytes/.exec(detail ?? '')?.[1];
      // POST /api/events describes its limit of events in place of that of bytes.
      return detail === undefined || most === undefined ? [] : [{ path, detail, most: Number(most) }];
    });
    expect(limited.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/api/AnomalyCallback', '/api/CustomCallback', '/api/notifications', '/api/test-call']),
    );
    for (const { path, detail, most } of limited) {
      const post = async (bytes: number): Promise<Response> =>
        fetch(`${app.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: textOf(bytes),
        });
      expect((await post(most)).status, path).toBe(400);
      const tooLarge = await post(most + 1);
      expect(tooLarge.status, path).toBe(413);
      expect(problemSchema.parse(await tooLarge.json()).detail, path).toBe(detail);
    }
  },
);

const MEBIBYTE = 1_048_576;

/** Posts so many MiB without saying before how many, all of them, and answers with the status. */
const postChunks = async (url: string, mebibytes: number): Promise<unknown> => {
  const outgoing = httpRequest(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': mebibytes * MEBIBYTE },
  });
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
  { timeout: 60_000 },
  async () => {
    const { pid = 0 } = app;
    const post = async (mebibytes: number) => postChunks(`${app.url}/api/AnomalyCallback`, mebibytes);
    expect(await post(8)).toBe(413);
    forgetPeak(pid);
    const before = peakMebibytes(pid);
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => post(30)));
    const more = peakMebibytes(pid) - before;

    expect(statuses).toEqual(Array.from({ length: 10 }, () => 413));
    expect(more).toBeLessThan(100);
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
