import { TableClient } from '@azure/data-tables';
import { expect, inject, it, onTestFinished, vi } from 'vitest';

import { reportText } from '../../../infra/local/audit/report.ts';
import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import {
  ALL_EVENTS,
  OPEN_DAYS_PARTITION,
  shardPartition,
  dayPartition,
  SHARDS_KEY,
} from '../../../src/analytics/rows/keys.ts';
import { ANY_VERSION } from '../../../src/storage/row.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { lazily } from '../../../src/azure/lazily.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { Table } from '../../../src/storage/table.ts';
import { DAY, Oracle, type PlainMessage } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { cloudEventOf } from '../../http/cloud-event.ts';
import { DATES, dayOfDate, season } from './season.ts';
import { startWatch, startWatches, type Watch } from './watch.ts';

const CLOSED = 'the day of data.ts_utc is closed: its counts are final';
const SHARDS = 2;

const crowded = dayOfDate('2024-02-29').start + 40_530_000_000n;
const MANY = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`c${index}`, 9_000 + index]));

/** More in the second from 11:15:30 than its samples hold; and a few frames before and after it. */
const CROWDED: readonly PlainMessage[] = Array.from({ length: 140 }, (_, index) => {
  const ts = crowded - 100_000n + BigInt(index) * 8_500n;
  return { cameraId: 'crowded', eventId: `c-${index}`, ts, time: ts, detections: MANY, annotations: MANY };
});
const CROWDED_QUESTIONS = [
  { start: crowded, end: crowded + 10_000n },
  { start: crowded - 50_000n, end: crowded + 500_000n },
  { start: crowded + 500_001n, end: crowded + 1_040_000n },
  { start: crowded - DAY, end: crowded + 123_456n, cameraId: 'crowded' },
];

/** An event that is not old. */
const recent: PlainMessage = {
  cameraId: 'ridge-04',
  eventId: 'recent',
  ts: BigInt(Date.now()) * 1_000n - DAY,
  time: BigInt(Date.now()) * 1_000n,
  detections: { fire: 1 },
};

const startTimer = async (watch: Watch): Promise<number> => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  return (await fetch(`${watch.app.url}/admin/functions/CloseDays`, init)).status;
};

const linesOf = ({ app }: Watch, event: string): readonly string[] =>
  app
    .output()
    .split('\n')
    .filter((line) => line.includes(`"event":"${event}"`));

it('a day older than EVENT_RETENTION_DAYS is closed: it answers as before, and refuses events by index', async () => {
  const prefix = ownTablesPrefix();
  const environment = { TABLES_PREFIX: prefix, EVENT_RETENTION_DAYS: '30', COUNTER_SHARDS: String(SHARDS) };
  const watches = await startWatches(2, environment, { runsSchedules: false });
  const [closing, remembering] = watches;
  if (closing === undefined || remembering === undefined) throw new Error('two instances were started');
  const { messages, questions } = season('closed days', 150);
  const asked = [...questions.slice(0, 25), ...DATES.map(dayOfDate), ...CROWDED_QUESTIONS];
  const oracle = new Oracle();
  for (const message of [...messages, ...CROWDED, recent]) oracle.tell(message);
  const table = new Table(
    new AzureTable(
      lazily(() =>
        TableClient.fromConnectionString(inject('tablesConnectionString'), `${prefix}analytics`, {
          allowInsecureConnection: true,
        }),
      ),
    ),
    { format: FORMAT },
  );
  const eventRows = async (): Promise<readonly string[]> => {
    const found = DATES.flatMap((date) =>
      Array.from({ length: SHARDS }, async (_, shard) =>
        table.all(shardPartition(dayOf(instantFrom(dayOfDate(date).start)), shard), ALL_EVENTS, { select: ['ts_utc'] }),
      ),
    );
    return (await Promise.all(found)).flat().map(({ properties }) => String(properties['ts_utc']).slice(0, 19));
  };
  // At once, so that both write to every day, and remember it.
  const middle = Math.ceil(messages.length / 2);
  await Promise.all([
    closing.record([...messages.slice(0, middle), ...CROWDED]),
    remembering.record([...messages.slice(middle), recent]),
  ]);
  for (const question of asked) expect(await closing.range(question)).toEqual(oracle.answer(question));

  expect(await startTimer(closing)).toBe(202);
  await vi.waitFor(() => expect(linesOf(closing, 'day closes')).toHaveLength(DATES.length), { timeout: 30_000 });
  // Two minutes and two more go by.
  for (const date of DATES) {
    const manifest = { rowKey: SHARDS_KEY, etag: ANY_VERSION, properties: { closes: '2026-01-01T00:00:00.000000Z' } };
    await table.transact(dayPartition(dayOf(instantFrom(dayOfDate(date).start))), [{ kind: 'merge', ...manifest }]);
  }
  expect(await startTimer(closing)).toBe(202);
  await vi.waitFor(() => expect(linesOf(closing, 'day closed')).toHaveLength(DATES.length), { timeout: 30_000 });

  for (const watch of watches) {
    for (const question of asked) expect(await watch.range(question)).toEqual(oracle.answer(question));
    for (const date of DATES) expect(await watch.day(date)).toEqual(oracle.answer(dayOfDate(date)));
  }
  const left = await eventRows();
  expect(new Set(left)).toEqual(new Set(['2024-02-29T11:15:30']));
  expect(left.length).toBeGreaterThan(100);

  const late = [CROWDED[0], recent, { ...recent, eventId: 'other' }, messages[0]].flatMap((one) =>
    one === undefined ? [] : [{ ...one, time: recent.time + 1n, reviewed: true }],
  );
  const started = await startWatches(2, environment, { runsSchedules: false });
  for (const [watch, recorded] of started.map(
    (one, index) => [one, index === 0 ? { recorded: 2, unchanged: 0 } : { recorded: 0, unchanged: 2 }] as const,
  )) {
    expect(await watch.recordPartly(late.map(cloudEventOf))).toEqual({
      ...recorded,
      errors: [0, 3].map((index) => ({ index, detail: CLOSED })),
    });
  }
  for (const date of DATES) expect(await remembering.day(date)).toEqual(oracle.answer(dayOfDate(date)));
  for (const date of DATES) {
    const day = dayOf(instantFrom(dayOfDate(date).start));
    const report = await auditDay(table, day);
    expect([date, report.closed, report.differences]).toEqual([date, true, []]);
    expect(reportText(report, 'analytics')).toMatch(/The day is closed[^]*Its counters agree with each other\.$/);
  }

  expect((await table.all(OPEN_DAYS_PARTITION, { from: '', before: '~' })).map(({ rowKey }) => rowKey)).toEqual([
    dayOf(instantFrom(recent.ts)),
  ]);
  onTestFinished(() => expect(linesOf(closing, 'day not closed')).toEqual([]));
}, 120_000);

it('without EVENT_RETENTION_DAYS there is no timer that closes days', async () => {
  const watch = await startWatch({}, { runsSchedules: false });
  expect(await startTimer(watch)).toBe(404);
}, 30_000);
