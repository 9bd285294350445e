import { expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { openDays } from '../../../src/analytics/rows/day-row.ts';
import { ALL_EVENTS, DAYS_PARTITION, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { CountingStorage } from '../../analytics/azurite.ts';
import { frame } from '../../analytics/counting.ts';
import { DAY, Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { DATES, dayOfDate, season } from '../../harness/season.ts';
import { until } from '../../harness/until.ts';
import { startWatch } from '../../harness/watch.ts';
import { cloudEventOf } from '../../http/cloud-event.ts';

it('a day older than EVENT_RETENTION_DAYS is closed by the timer in two steps: it answers as before, and refuses events by index', async () => {
  const prefix = ownTablesPrefix();
  const settings = { TABLES_PREFIX: prefix, EVENT_RETENTION_DAYS: '30' };
  const watch = await startWatch(settings, { runsSchedules: false });
  const { table } = new CountingStorage(prefix).process();
  const runTimer = async (): Promise<void> => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    expect((await fetch(`${watch.app.url}/admin/functions/CloseDays`, init)).status).toBe(202);
  };
  const { messages, questions } = season('closed days', 60);
  const recent = frame('ridge-04', 'recent', BigInt(Date.now()) * 1_000n - DAY);
  await watch.record([...messages, recent]);

  await runTimer();
  const announced = () => watch.app.output().split('"event":"day closes"').length - 1;
  await until(() => announced() === DATES.length, 'closing is announced');
  // Two hours go by.
  const days = DATES.map((date) => dayOf(instantFrom(dayOfDate(date).start)));
  for (const rowKey of days) {
    const properties = { closes: '2026-01-01T00:00:00.000000Z' };
    await table.transact(DAYS_PARTITION, [{ kind: 'merge', rowKey, etag: '*', properties }]);
  }
  await runTimer();
  await until(async () => (await openDays(table)).length === 1, 'the days are closed');

  expect(await openDays(table)).toEqual([dayOf(instantFrom(recent.ts))]);
  for (const day of days) expect(await table.all(shardPartition(day, 0), ALL_EVENTS)).toEqual([]);
  const oracle = new Oracle([...messages, recent]);
  for (const question of [...questions.slice(0, 8), ...DATES.map(dayOfDate)]) {
    expect(await watch.range(question)).toEqual(oracle.answer(question));
  }
  // Another instance knows nothing of the day as it was.
  const other = await startWatch(settings, { runsSchedules: false });
  const late = [...messages.slice(0, 1), { ...recent, eventId: 'other' }, ...messages.slice(1, 2)];
  expect(await other.recordPartly(late.map(cloudEventOf))).toEqual({
    recorded: 1,
    unchanged: 0,
    errors: [0, 2].map((index) => ({ index, detail: CLOSED_DAY.refused })),
  });
});
