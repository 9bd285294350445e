import { describe, expect, it, vi } from 'vitest';

import { DayClosed, DayHeld, DayMoved } from '../../../src/analytics/errors.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom, instantFromMilliseconds } from '../../../src/analytics/model/instant.ts';
import { shardOf } from '../../../src/analytics/model/shard.ts';
import { newDay, readDayRow, type StoredDay, writeDayRow } from '../../../src/analytics/rows/day-row.ts';
import { CLOSING_MARGIN } from '../../../src/analytics/rows/days.ts';
import { DAY_KEY, DAYS_PARTITION, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { DamagedRow, WriteConflict } from '../../../src/storage/errors.ts';
import { all, CountingProcess, DATE, frame, MemoryStorage, START } from '../counting.ts';
import { DAY } from '../oracle.ts';

const tomorrow = dayOf(instantFrom(START + DAY));
const WHOLE = { start: START, end: START + DAY };

const frames = (from: bigint, cameras: number) => all(cameras).map((index) => frame(`ridge-${index}`, 'f', from));

/** So many milliseconds passed by each of the clocks of a process. */
const passed = (byWall: number, bySteady: number): void => {
  vi.spyOn(Date, 'now').mockReturnValue(1_795_248_000_000 + byWall);
  vi.spyOn(performance, 'now').mockReturnValue(1_000 + bySteady);
};
const now = () => instantFromMilliseconds(Date.now());

/** Changes the row of the day, as another process does. */
const change = async ({ connection }: MemoryStorage, changes: Partial<StoredDay>): Promise<StoredDay> => {
  const { table } = new CountingProcess(connection);
  const row = await readDayRow(table, DATE);
  if (row === undefined) throw new Error('there is no row');
  return writeDayRow(table, DATE, row.etag, { ...row, ...changes });
};

describe('the shards of a day', () => {
  it('are as many as COUNTER_SHARDS says when its first event comes, and stay as many when that changes', async () => {
    const storage = new MemoryStorage();
    const process = storage.process(4);
    expect(await process.days.find(DATE)).toBeUndefined();
    await process.record(frames(START, 40));
    const rows = [0, 1, 2, 3, 4].map(async (shard) => process.table.get(shardPartition(DATE, shard), DAY_KEY));
    expect((await Promise.all(rows)).map((row) => row !== undefined)).toEqual([true, true, true, true, false]);

    const changed = storage.process(5);
    await changed.record([...frames(START, 50), ...frames(START + DAY, 30)]);
    expect([await changed.days.find(DATE), await changed.days.find(tomorrow)]).toMatchObject([
      { shards: 4 },
      { shards: 5 },
    ]);
    expect(await changed.answer({ start: START, end: START + 2n * DAY })).toMatchObject({ total_events: 80 });
  });

  it('are the same for all processes, also if each is set to another number and all start at once', async () => {
    const storage = new MemoryStorage();
    const processes = [1, 2, 3, 64].map((shards) => storage.process(shards));
    const claimed = await Promise.all(processes.map(async ({ days }) => days.claim(DATE)));
    const counts = claimed.map(({ shards }) => shards);
    expect([1, 2, 3, 64]).toContain(counts[0]);
    expect(new Set([...counts, (await storage.process().days.find(DATE))?.shards]).size).toBe(1);
  });

  it('cost one look and one row, however many requests come with the first events of the day; one that failed is tried again', async () => {
    const storage = new MemoryStorage();
    const { days } = storage.process(2);
    const reads = vi.spyOn(storage.connection, 'get').mockRejectedValueOnce(new DamagedRow('days', DATE, 'once'));
    const writes = vi.spyOn(storage.connection, 'transact');
    const claims = async () => Promise.allSettled(all(20).map(async () => days.claim(DATE)));
    expect(new Set((await claims()).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(new Set((await claims()).map(({ status }) => status))).toEqual(new Set(['fulfilled']));
    // The one that failed; then none there, and what was written.
    expect(reads).toHaveBeenCalledTimes(3);
    expect(writes).toHaveBeenCalledTimes(1);
  });

  it('are looked up again before the first event of a shard, so that none is counted where nobody looks after storage was emptied', async () => {
    const storage = new MemoryStorage();
    const recorder = new CountingProcess(storage.connection, 1, { pause: async () => undefined });
    await recorder.record(frames(START + 3_600_000_000n, 1));
    storage.connection.drop();
    const inSecond = frames(START, 10).filter(({ cameraId }) => shardOf(cameraId, 2) === 1);
    await storage.process(2).record(inSecond);
    expect(await recorder.record(frames(START, 10))).toHaveLength(10);
    expect(await storage.process().answer(WHOLE)).toMatchObject({ total_events: 10 });
  });

  it('are not made up if the row of the day is lost, whatever COUNTER_SHARDS says by now: not by events, not by the timer', async () => {
    const storage = new MemoryStorage();
    await storage.process(4).record(frames(START, 40));
    await storage.connection.transact(DAYS_PARTITION, [{ kind: 'delete', rowKey: DATE }]);
    const lowered = storage.process(1);
    // Damage is told: the endpoint answers 500 and names the row, the timer logs it.
    await expect(lowered.record(frames(START, 40))).rejects.toThrow('it is missing, and the day has rows');
    await expect(lowered.days.close(DATE)).rejects.toThrow(DamagedRow);
    await expect(lowered.answer(WHOLE)).rejects.toThrow(DamagedRow);
  });

  it.each([59_999, 60_001])('are those of a table that was made anew, %i ms after the last look', async (after) => {
    const storage = new MemoryStorage();
    const process = storage.process(2);
    passed(0, 0);
    await process.record(frames(START, 20));
    storage.connection.drop();
    passed(after, after);
    expect(new Set(await process.record(frames(START, 20)))).toEqual(new Set(['recorded']));
    const { total_events } = await process.answer(WHOLE);
    expect(total_events).toBe(20);
  });
});

describe('a day that closes', () => {
  it('is announced an hour ahead, and takes no changes from then on, by the clock of each process: one that is wrong says so', async () => {
    const storage = new MemoryStorage();
    const start = Date.now();
    storage.now = () => start;
    const lines: unknown[] = [];
    const log = { info: () => undefined, error: () => undefined, warn: (...line: unknown[]) => void lines.push(line) };
    const clock = vi.spyOn(Date, 'now').mockReturnValue(start - 1_500_000);
    const behind = new CountingProcess(storage.connection, 1, { log });
    await behind.record(frames(START, 1));
    clock.mockReturnValue(start);
    const { closes = 0n } = (await storage.process().days.close(DATE)) ?? {};
    expect(closes).toBe(now() + CLOSING_MARGIN);
    clock.mockReturnValue(start + 3_600_000 - 1);
    expect(await behind.record(frames(START, 2))).toEqual(['unchanged', 'recorded']);
    clock.mockReturnValue(start + 3_600_000);
    expect(await behind.record(frames(START, 1))).toMatchObject([{ code: 'day_closed' }]);
    expect(lines).toEqual([['clock is off', { ahead_seconds: -1_500 }]]);
  });

  it.each([
    ['by its clock, although the machine was suspended and its steady clock stood still', 60_001, 0],
    ['by its steady clock, although its clock was set back', -3_600_000, 60_001],
  ])('is read again after a minute %s, so that no recorder misses it', async (_, wall, steady) => {
    const storage = new MemoryStorage();
    const { days } = storage.process(3);
    passed(0, 0);
    await days.claim(DATE);
    await change(storage, { closes: instantFrom(0n) });
    passed(59_999, 59_999);
    expect(await days.claim(DATE), 'a reading that is fresh').toMatchObject({ shards: 3 });
    passed(wall, steady);
    await expect(days.claim(DATE)).rejects.toThrow(DayClosed);
  });

  it('is not announced while a rewrite holds the day, and removes the hold of an owner that died', async () => {
    const storage = new MemoryStorage();
    const { days } = storage.process();
    await days.claim(DATE);
    const until = instantFrom(now() + 60_000_000n);
    await change(storage, { attempt: 1, hold: { owner: 'x', until } });
    await expect(days.close(DATE)).rejects.toThrow(DayHeld);
    await change(storage, { hold: { owner: 'x', until: now() } });
    expect(await days.close(DATE)).toMatchObject({ attempt: 1, hold: undefined });
    expect((await days.stored(DATE))?.closes).toBeDefined();
  });
});

const opened = async () => {
  const storage = new MemoryStorage();
  const { days, table } = storage.process(2);
  const row = await days.claim(DATE);
  return { storage, days, table, row };
};
const holdFor = (seconds: bigint) => ({ owner: 'x', until: instantFrom(now() + seconds * 1_000_000n) });

// What a seal keeps out of a shard, and at which moments, is played in the world of counting.
describe('the mark of a seal', () => {
  it('of an attempt that is held keeps recorders out, and readers in', async () => {
    const { storage, days, row } = await opened();
    await change(storage, { attempt: 1, hold: holdFor(60n) });
    await expect(days.demandWritable(DATE, row, 1)).rejects.toThrow(DayHeld);
    expect(await days.demandCurrent(DATE, row, 1)).toMatchObject({ generation: 0 });
    await expect(days.demandWritable(DATE, row, 0), 'a shard that is not sealed yet').resolves.toBeUndefined();
  });

  it('of an attempt whose owner died is void: a recorder removes the hold', async () => {
    const { storage, days, row } = await opened();
    await change(storage, { attempt: 1, hold: holdFor(-1n) });
    await days.demandWritable(DATE, row, 1);
    expect(await days.stored(DATE)).toMatchObject({ attempt: 1, generation: 0, hold: undefined });
    await change(storage, { attempt: 2, hold: holdFor(60n) });
    await expect(days.demandWritable(DATE, row, 1), 'and stays void').resolves.toBeUndefined();
  });

  it.each([{ generation: 1 }, { generation: 1, shards: 1 }])(
    'of an attempt that switched to %j moves everybody',
    async (to) => {
      const { storage, days, row } = await opened();
      await change(storage, { attempt: 1, ...to });
      await expect(days.demandWritable(DATE, row, 1)).rejects.toThrow(DayMoved);
      await expect(days.demandCurrent(DATE, row, 1)).rejects.toThrow(DayMoved);
      await expect(days.demandOpen(DATE, row, true)).rejects.toThrow(DayMoved);
      expect(await days.find(DATE)).toMatchObject(to);
    },
  );
});

it('the row of a day is written in place of the version that was read, and of no other', async () => {
  const { table } = new MemoryStorage().process();
  const first = await writeDayRow(table, DATE, undefined, newDay(3));
  const hold = { owner: 'x', until: now() };
  const held = await writeDayRow(table, DATE, first.etag, { ...first, attempt: 7, hold });
  expect(await readDayRow(table, DATE)).toEqual(held);
  for (const etag of [undefined, first.etag]) {
    await expect(writeDayRow(table, DATE, etag, first)).rejects.toThrow(WriteConflict);
  }
  await writeDayRow(table, DATE, held.etag, {
    ...held,
    hold: undefined,
    generation: 7,
    isDeleted: true,
    closes: now(),
  });
  expect(await readDayRow(table, DATE)).toMatchObject({ hold: undefined, generation: 7, shards: 3, isDeleted: true });
});

it.each([
  { shards: 0 },
  { shards: 65 },
  { generation: -1 },
  { attempt: 'one' },
  { closes: 'soon' },
  { hold_owner: 5 },
  { accuracy: 0.5 },
])('a row of a day with %j is damage', async (properties) => {
  const storage = new MemoryStorage();
  await storage.process().days.claim(DATE);
  await storage.connection.transact(DAYS_PARTITION, [{ kind: 'merge', rowKey: DATE, etag: '*', properties }]);
  await expect(storage.process().days.find(DATE)).rejects.toThrow(DamagedRow);
});
