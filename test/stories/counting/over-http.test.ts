import { setTimeout } from 'node:timers/promises';

import { CloudEvent, emitterFor, httpTransport } from 'cloudevents';
import { expect, inject, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { readSeal, sealShard } from '../../../src/analytics/rows/seal.ts';
import { CountingStorage } from '../../analytics/azurite.ts';
import { DAY } from '../../analytics/oracle.ts';
import { readText } from '../../docs/markdown.ts';
import { ownTablesPrefix, startApp, testEnvironment } from '../../harness/app.ts';
import { Between } from '../../harness/between.ts';
import { checkedFetch } from '../../harness/contract.ts';
import { until } from '../../harness/until.ts';
import { cloudEvent } from '../../http/cloud-event.ts';

/** An instance of the app that ends with the test. Its timer functions run only on request. */
const startCounting = async (environment: Readonly<Record<string, string>> = {}) => {
  const app = await startApp({ environment: testEnvironment(environment), runsSchedules: false });
  onTestFinished(async () => app.stop());
  const fetchChecked = await checkedFetch(app.url);
  const ask = async (path: string, init?: RequestInit) => fetchChecked(`${app.url}/api/${path}`, init);
  const post = async (batch: unknown) => ask('events', { method: 'POST', body: JSON.stringify(batch) });
  return { app, ask, post };
};

it('the emitter of the CloudEvents SDK, which sends binary mode by default, is understood with the transport of the page', async () => {
  const { app, ask } = await startCounting();
  const { data, ...attributes } = cloudEvent();
  const event = new CloudEvent({ ...attributes, data });
  // Its own transport sends chunks, which the Functions host does not hand on.
  const inChunks = emitterFor(httpTransport(`${app.url}/api/events`));
  const { body } = z.looseObject({ body: z.string() }).parse(await inChunks(event));
  expect(JSON.parse(body)).toMatchObject({ code: 'length_required' });

  const [, code = ''] = /```ts\nconst emit = ([^]*?);\n```/.exec(readText('src/http/clients.md')) ?? [];
  // oxlint-disable-next-line typescript/no-implied-eval -- the code of the page, as it is written
  const made: unknown = new Function('emitterFor', 'url', 'key', `return ${code}`)(emitterFor, app.url, 'key');
  const emit = z.custom<(event: CloudEvent<unknown>) => Promise<void>>().parse(made);
  await emit(event);
  await expect(emit(new CloudEvent({ ...attributes, data: {} }))).rejects.toThrow('event_id');
  expect(await (await ask('analytics/day?date=2024-02-29')).json()).toMatchObject({ total_events: 1 });
});

it('while storage breaks off every answer is a 503 with Retry-After, except to a request that is wrong', async () => {
  const between = await Between.start(inject('tablesConnectionString'));
  onTestFinished(async () => between.stop());
  const { ask, post } = await startCounting({ TABLES_CONNECTION_STRING: between.connectionString });
  // From now on the table is known to exist.
  expect((await post([cloudEvent()])).status).toBe(200);
  between.rule = () => {
    throw new Error('storage has stopped');
  };
  const gets = ['analytics', 'analytics/day?date=2024-02-29', 'health'].map(async (path) => ask(path));
  for (const answer of await Promise.all([...gets, post([cloudEvent()])])) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
    expect(await answer.text()).not.toMatch(/devstoreaccount|127\.0\.0\.1|ECONNRESET|\.ts/);
  }
  expect((await post([{}])).status).toBe(400);
});

it('an app that is stopped stores events whose sender left before the answer', async () => {
  const between = await Between.start(inject('tablesConnectionString'));
  onTestFinished(async () => between.stop());
  const prefix = ownTablesPrefix();
  const { app } = await startCounting({ TABLES_CONNECTION_STRING: between.connectionString, TABLES_PREFIX: prefix });
  const asked = Promise.withResolvers<void>();
  // Several requests to slow storage take longer than the app takes to end.
  between.rule = async ({ path }, carryOut) => {
    // The look for due calls asks storage too, perhaps before the app has the event.
    if (path.includes('2024-02-29')) asked.resolve();
    await setTimeout(100);
    return carryOut();
  };
  const sender = new AbortController();
  const init = { method: 'POST', body: JSON.stringify([cloudEvent()]), signal: sender.signal };
  const answer = fetch(`${app.url}/api/events`, init);
  await asked.promise;
  sender.abort();
  await expect(answer).rejects.toThrow('aborted');
  process.kill(app.pid ?? NaN, 'SIGTERM');
  expect(await app.exited).toBe('The app ended with code 0');
  const start = BigInt(Date.parse('2024-02-29')) * 1_000n;
  const day = { start, end: start + DAY - 1n };
  expect((await new CountingStorage(prefix).process().answer(day)).counts).toEqual(new Map([['events', 1]]));
});

it('a day older than EVENT_RETENTION_DAYS is closed by the timer: it answers as before, and refuses events by index', async () => {
  const prefix = ownTablesPrefix();
  const { app, ask, post } = await startCounting({ TABLES_PREFIX: prefix, EVENT_RETENTION_DAYS: '30' });
  const runCloseDays = async (line: string): Promise<void> => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    expect((await fetch(`${app.url}/admin/functions/CloseDays`, init)).status).toBe(202);
    await until(() => app.output().includes(`"event":"${line}"`), line);
  };
  const in30Days = new Date(Date.now() - 29 * 86_400_000).toISOString();
  const recent = (event_id: string) => cloudEvent({ data: { event_id, ts_utc: in30Days } });
  expect((await post([cloudEvent(), recent('first')])).status).toBe(200);
  await runCloseDays('day is not quiet');
  // After an hour of quiet a run would seal it.
  const { table } = new CountingStorage(prefix).process();
  await sealShard(table, await readSeal(table, '2024-02-29.00'), 'closed');
  await runCloseDays('day closed');
  expect(await (await ask('analytics/day?date=2024-02-29')).json()).toMatchObject({ total_events: 1 });
  const answer = await post([recent('second'), cloudEvent()]);
  const errors = [{ index: 1, detail: CLOSED_DAY.refused }];
  expect([answer.status, await answer.json()]).toMatchObject([400, { recorded: 1, unchanged: 0, errors }]);
});
