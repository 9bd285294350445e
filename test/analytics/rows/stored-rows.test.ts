import { expect, it, vi } from 'vitest';

import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { eventLines } from '../../../src/analytics/retention/day-events.ts';
import { shardPartition } from '../../../src/analytics/rows/keys.ts';
import { countingRows, putRows } from '../../fixtures/rows.ts';
import { DATE, frame, MemoryStorage, START, WHOLE_DAY } from '../counting.ts';
import { DAY } from '../oracle.ts';

it('the rows of version 1.0.0 are counted on, read, exported and closed', async () => {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Number((START + 30n * DAY) / 1_000n));
  const storage = new MemoryStorage();
  const { connection } = storage;
  await putRows(connection, await countingRows());
  const partitions = [0, 1].map((shard) => shardPartition(DATE, shard));
  const counting = storage.process(2);
  const read = { events: 0, unreadable: [] };
  for (const partition of partitions) {
    for await (const lines of eventLines(counting.table, partition, read)) expect(lines).toContain('CameraEvent');
  }
  expect(read).toEqual({ events: 20, unreadable: [] });
  expect(await counting.record([frame('c-0', 'f-0'), frame('c-0', 'new')])).toEqual(['superseded', 'recorded']);
  expect(await counting.answer(WHOLE_DAY)).toMatchObject({ total_events: 21 });
  expect([...(await counting.accuracy(DATE))]).toEqual(
    expect.arrayContaining([
      ['confirmed smoke', 1],
      ['missed fire', 1],
    ]),
  );
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const closing = { table: counting.table, days: counting.days, retentionDays: 7 };
  await closeDays(closing, log);
  clock.mockReturnValue(Date.now() + 2 * 3_600_000);
  await closeDays(closing, log);
  const left = partitions
    .flatMap((partition) => connection.rows(partition))
    .filter(({ rowKey }) => rowKey.startsWith('event|'));
  expect(left).toEqual([]);
  expect(await counting.answer(WHOLE_DAY)).toMatchObject({ total_events: 21 });
});
