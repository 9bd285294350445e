import { setTimeout } from 'node:timers/promises';

import { CloudEvent, emitterFor, httpTransport } from 'cloudevents';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import { CountingStorage } from '../../analytics/azurite.ts';
import { all, frame } from '../../analytics/counting.ts';
import { DAY, Oracle, type Question } from '../../analytics/oracle.ts';
import { readText } from '../../docs/markdown.ts';
import { ownTablesPrefix, startApp, testEnvironment } from '../../harness/app.ts';
import { Between } from '../../harness/between.ts';
import { until } from '../../harness/until.ts';
import { startWatch, type Watch, watchOf } from '../../harness/watch.ts';
import { cloudEvent, cloudEventOf } from '../../http/cloud-event.ts';

const DATES = ['2024-02-28', '2024-02-29', '2024-03-01'] as const;
/** The first and the last microsecond of one of the dates. */
const dayOf = (date: (typeof DATES)[number]): Question => {
  const start = BigInt(Date.parse(date)) * 1_000n;
  return { start, end: start + DAY - 1n };
};
/** The ids of cameras must be escaped in addresses and keys. */
const CAMERAS = ['north/ridge|4 & 5', "o'brien's #1?"] as const;
const FIRST = dayOf(DATES[0]).start;
/** Frames of all three days, from both cameras in turn. */
const messages = all(60).map((at) => frame(CAMERAS[at % 2] ?? '', `f/${at}`, FIRST + (BigInt(at) * DAY) / 20n));
const oracle = new Oracle(messages);
const QUESTIONS = [...DATES.map(dayOf), { start: FIRST + 1n, end: FIRST + 2n * DAY, cameraId: CAMERAS[1] }];
const runCloseDays = async ({ app }: Watch): Promise<number> => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  return (await fetch(`${app.url}/admin/functions/CloseDays`, init)).status;
};

let watch: Watch;
beforeAll(async () => {
  watch = await watchOf(await startApp({ environment: testEnvironment(), bundle: 'release' }));
});
afterAll(async () => watch.app.stop());

it('all four analytics endpoints answer 304 to a reader that has the answer, until an event is recorded', async () => {
  const date = '2024-02-29';
  const ends = `ts_utc_start=${date}T00:00:00Z&ts_utc_end=${date}T23:59:59.999999Z`;
  for (const path of [
    `/api/analytics?${ends}`,
    `/api/analytics/day?date=${date}`,
    `/api/analytics/series?${ends}&step=hour`,
    `/api/analytics/cameras?date=${date}`,
  ]) {
    const { status, headers } = await watch.request(path);
    const tag = headers.get('etag') ?? '';
    expect([path, status, headers.get('cache-control')]).toEqual([path, 200, 'private, no-cache']);
    const known = await watch.request(path, { headers: { 'if-none-match': `"another", W/${tag}` } });
    expect([known.status, known.body, known.headers.get('etag')]).toEqual([304, '', tag]);
    await watch.post([cloudEvent({ data: { event_id: `later-${path.length}` } })]);
    expect((await watch.request(path, { headers: { 'if-none-match': tag } })).status).toBe(200);
  }
});

it('the emitter of the CloudEvents SDK, which sends binary mode by default, is understood with the transport of the page', async () => {
  const { data, ...attributes } = cloudEvent({ data: { event_id: 'emitted', camera_id: 'emitter' } });
  const event = new CloudEvent({ ...attributes, data });
  // Its own transport sends chunks, which the Functions host does not hand on.
  const inChunks = emitterFor(httpTransport(`${watch.app.url}/api/events`));
  const { body } = z.looseObject({ body: z.string() }).parse(await inChunks(event));
  expect(JSON.parse(body)).toMatchObject({ code: 'length_required' });

  const [, code = ''] = /```ts\nconst emit = ([^]*?);\n```/.exec(readText('src/http/clients.md')) ?? [];
  // oxlint-disable-next-line typescript/no-implied-eval -- the code of the page, as it is written
  const made: unknown = new Function('emitterFor', 'url', 'key', `return ${code}`)(emitterFor, watch.app.url, 'key');
  const emit = z.custom<(event: CloudEvent<unknown>) => Promise<void>>().parse(made);
  await emit(event);
  await expect(emit(new CloudEvent({ ...attributes, data: {} }))).rejects.toThrow('event_id');
  const counted = await watch.range({ ...dayOf('2024-02-29'), cameraId: 'emitter' });
  expect(counted).toMatchObject({ total_events: 1 });
});

it('while storage breaks off every answer is a 503 with Retry-After, except to a request that is wrong', async () => {
  const between = await Between.start(inject('tablesConnectionString'));
  onTestFinished(async () => between.stop());
  const behind = await startWatch({ TABLES_CONNECTION_STRING: between.connectionString });
  between.rule = () => {
    throw new Error('storage has stopped');
  };
  const paths = ['/api/analytics', '/api/analytics/day?date=2024-02-29', '/api/health'];
  const gets = paths.map(async (path) => behind.request(path));
  for (const { status, headers, body } of await Promise.all([...gets, behind.post([cloudEvent()])])) {
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(body).not.toMatch(/devstoreaccount|127\.0\.0\.1|ECONNRESET|\.ts/);
  }
  expect((await behind.post([{}])).status).toBe(400);
});

it('an app that is stopped finishes and acknowledges the requests that it has accepted', async () => {
  const prefix = ownTablesPrefix();
  const stopped = await startWatch({ TABLES_PREFIX: prefix });
  expect(await runCloseDays(stopped), 'without EVENT_RETENTION_DAYS there is no such timer').toBe(404);
  const acknowledged: typeof messages = [];
  const size = Math.ceil(messages.length / 6);
  const answers = Array.from({ length: 6 }, async (_, index) => {
    const batch = messages.slice(index * size, (index + 1) * size);
    await stopped.record(batch);
    acknowledged.push(...batch);
  });
  await Promise.any(answers);
  const before = acknowledged.length;
  process.kill(stopped.app.pid ?? NaN, 'SIGTERM');
  await Promise.allSettled(answers);
  expect(await stopped.app.exited).toBe('The app ended with code 0');
  expect(acknowledged.length).toBeGreaterThan(before);
  const next = new CountingStorage(prefix).process();
  expect(await next.record(acknowledged), 'nothing that was acknowledged is lost').not.toContain('recorded');
});

it('an app that is stopped stores events whose sender left before the answer', async () => {
  const between = await Between.start(inject('tablesConnectionString'));
  onTestFinished(async () => between.stop());
  const prefix = ownTablesPrefix();
  const { app } = await startWatch({ TABLES_CONNECTION_STRING: between.connectionString, TABLES_PREFIX: prefix });
  const asked = Promise.withResolvers<void>();
  // Several requests to slow storage take longer than the app takes to end.
  between.rule = async (_, carryOut) => {
    asked.resolve();
    await setTimeout(100);
    return carryOut();
  };
  const left = frame('ridge-04', 'left');
  const sender = new AbortController();
  const init = { method: 'POST', body: JSON.stringify([cloudEventOf(left)]), signal: sender.signal };
  const answer = fetch(`${app.url}/api/events`, init);
  await asked.promise;
  sender.abort();
  await expect(answer).rejects.toThrow('aborted');
  process.kill(app.pid ?? NaN, 'SIGTERM');
  expect(await app.exited).toBe('The app ended with code 0');
  expect(await new CountingStorage(prefix).process().record([left])).toEqual(['unchanged']);
});

it('a day older than EVENT_RETENTION_DAYS is closed by the timer: it answers as before, and refuses events by index', async () => {
  const prefix = ownTablesPrefix();
  const closing = await startWatch({ TABLES_PREFIX: prefix, EVENT_RETENTION_DAYS: '30' }, { runsSchedules: false });
  const closeDays = async (line: string): Promise<void> => {
    expect(await runCloseDays(closing)).toBe(202);
    await until(() => closing.app.output().split(`"event":"${line}"`).length - 1 === DATES.length, line);
  };
  const recent = frame('ridge-04', 'recent', BigInt(Date.now()) * 1_000n - DAY);
  await closing.record([...messages, recent]);
  await closeDays('day closes');
  const { table } = new CountingStorage(prefix).process();
  for (const rowKey of DATES) {
    const properties = { closes: '2026-01-01T00:00:00.000000Z' };
    await table.transact(DAYS_PARTITION, [{ kind: 'merge', rowKey, etag: '*', properties }]);
  }
  await closeDays('day closed');
  for (const question of QUESTIONS) expect(await closing.range(question)).toEqual(oracle.answer(question));
  const late = [...messages.slice(0, 1), { ...recent, eventId: 'other' }, ...messages.slice(1, 2)];
  const { status, body } = await closing.post(late.map(cloudEventOf));
  const errors = [0, 2].map((index) => ({ index, detail: CLOSED_DAY.refused }));
  expect([status, JSON.parse(body)]).toMatchObject([400, { recorded: 1, unchanged: 0, errors }]);
});
