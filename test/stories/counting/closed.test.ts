import { expect, inject, it, onTestFinished } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { openDays } from '../../../src/analytics/rows/day-row.ts';
import { ALL_EVENTS, DAYS_PARTITION, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { ANY_VERSION } from '../../../src/storage/row.ts';
import { CountingStorage } from '../../analytics/azurite.ts';
import { DAY, Oracle, type PlainMessage } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { Between, killedAtWrite } from '../../harness/between.ts';
import { DATES, dayOfDate, season } from '../../harness/season.ts';
import { until } from '../../harness/until.ts';
import { startWatch, type Watch } from '../../harness/watch.ts';
import { cloudEventOf } from '../../http/cloud-event.ts';

const CLOSED = 'the day of data.ts_utc is closed: its counts are final';
const DAYS = DATES.map((date) => dayOf(instantFrom(dayOfDate(date).start)));

/** An event that is not old. */
const recent: PlainMessage = {
  cameraId: 'ridge-04',
  eventId: 'recent',
  ts: BigInt(Date.now()) * 1_000n - DAY,
  time: BigInt(Date.now()) * 1_000n,
  detections: { fire: 1 },
};

const startTimer = async ({ url }: { readonly url: string }): Promise<number> => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  return (await fetch(`${url}/admin/functions/CloseDays`, init)).status;
};

const daysLogged = ({ app }: Watch, event: string): number => app.output().split(`"event":"${event}"`).length - 1;

it('a day older than EVENT_RETENTION_DAYS is closed, also if the instance that closes it is killed: it answers as before, and refuses events by index', async () => {
  const tablesConnectionString = inject('tablesConnectionString');
  const prefix = ownTablesPrefix();
  const settings = { TABLES_PREFIX: prefix, EVENT_RETENTION_DAYS: '30' };
  const { table } = new CountingStorage(prefix).process();
  const eventRows = async (): Promise<number> =>
    (await Promise.all(DAYS.map(async (day) => table.all(shardPartition(day, 0), ALL_EVENTS, { select: [] })))).flat()
      .length;
  const { messages, questions } = season('closed days', 60);
  const asked = [...questions.slice(0, 8), ...DATES.map(dayOfDate)];
  const oracle = new Oracle();
  for (const message of [...messages, recent]) oracle.tell(message);
  const expectRight = async (watch: Watch): Promise<void> => {
    for (const question of asked) expect(await watch.range(question)).toEqual(oracle.answer(question));
  };

  const first = await startWatch(settings, { runsSchedules: false });
  await first.record([...messages, recent]);
  expect(await startTimer(first.app)).toBe(202);
  await until(() => daysLogged(first, 'day closes') === DATES.length, 'closing is announced');
  // An hour and another one go by.
  for (const day of DAYS) {
    const row = { rowKey: day, etag: ANY_VERSION, properties: { closes: '2026-01-01T00:00:00.000000Z' } };
    await table.transact(DAYS_PARTITION, [{ kind: 'merge', ...row }]);
  }
  const between = await Between.start(tablesConnectionString);
  onTestFinished(async () => between.stop());
  const behind = { ...settings, TABLES_CONNECTION_STRING: between.connectionString };
  const { app: killed } = await startWatch(behind, { runsSchedules: false });
  between.rule = killedAtWrite(2, 'before its answer', () => killed.kill());
  expect(await startTimer(killed)).toBe(202);
  await killed.exited;

  const next = await startWatch(settings, { runsSchedules: false });
  const late = [messages[0], recent, { ...recent, eventId: 'other' }, messages[1]].flatMap((one) =>
    one === undefined ? [] : [{ ...one, time: recent.time + 1n, reviewed: true }],
  );
  expect(await next.recordPartly(late.map(cloudEventOf))).toEqual({
    recorded: 2,
    unchanged: 0,
    errors: [0, 3].map((index) => ({ index, detail: CLOSED })),
  });
  expect(await eventRows()).toBeGreaterThan(0);
  await expectRight(next);

  expect(await startTimer(next.app)).toBe(202);
  await until(async () => (await openDays(table)).length === 1, 'the days are closed');
  expect(await openDays(table)).toEqual([dayOf(instantFrom(recent.ts))]);
  expect(await eventRows()).toBe(0);
  for (const watch of [first, next]) await expectRight(watch);
  expect(daysLogged(next, 'day not closed')).toBe(0);
});
