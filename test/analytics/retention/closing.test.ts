import { describe, expect, it, vi } from 'vitest';

import { closeDays, type ClosingDependencies } from '../../../src/analytics/retention/close-days.ts';
import { readSeal, sealShard } from '../../../src/analytics/rows/seal.ts';
import { StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import { MemoryContainer } from '../../storage/memory-container.ts';
import { all, DATE, frame, HOUR, type MemoryStorage, recorded, SHARD, START } from '../counting.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

const EIGHT = START + 8n * HOUR;
/** The day ended more than a day ago. */
const LATER = START + 3n * DAY;

/** The time of the clock of storage, and of every process. */
const at = (microsecond: bigint): void => void vi.spyOn(Date, 'now').mockReturnValue(Number(microsecond / 1_000n));

/** A table with these events, written at the end of the day. */
const stored = async (messages: readonly PlainMessage[], shards = 1) => {
  at(START + DAY);
  return recorded(messages, shards);
};

/** A run of the timer. @returns what it logs */
const run = async (storage: MemoryStorage, now = LATER, options: Partial<ClosingDependencies> = {}) => {
  at(now);
  const lines: (readonly [event: string, fields: object | undefined])[] = [];
  const log = (event: string, fields?: object): void => void lines.push([event, fields]);
  const { table } = storage.process();
  await closeDays({ table, shards: 1, retentionDays: 1, ...options }, { info: log, warn: log, error: log });
  return lines;
};
const eventsOf = (lines: readonly (readonly [string, unknown])[]): readonly string[] => lines.map(([event]) => event);

const eventKeys = (storage: MemoryStorage): readonly string[] =>
  storage.keys().filter((rowKey) => rowKey.startsWith('event|'));

// The world of counting plays closings with concurrent requests and accidents.
describe('a closed day', () => {
  it('costs the timer two runs, and no more writes', async () => {
    const storage = await stored(all(5).map((index) => frame('a', `f${index}`, EIGHT)));
    expect(eventsOf(await run(storage))).toEqual(['day sealed']);
    expect(eventsOf(await run(storage))).toEqual(['day closed']);
    expect(eventKeys(storage)).toEqual([]);
    const before = storage.memory.rows(SHARD);
    expect(await run(storage)).toEqual([]);
    expect(storage.memory.rows(SHARD)).toEqual(before);
  });

  it('keeps an event row that cannot be decoded: no backup has it', async () => {
    const storage = await stored(all(3).map((index) => frame('a', `f${index}`, EIGHT)));
    await storage.change('event|0800|a|f1', { ts_utc: 'text' });
    const container = new MemoryContainer();
    await run(storage);
    const lines = await run(storage, LATER + HOUR, { container: async () => container });
    expect(lines).toContainEqual([
      'events not backed up',
      expect.objectContaining({ first: `${SHARD} event|0800|a|f1` }),
    ]);
    expect(lines).toContainEqual([
      'day closed',
      expect.objectContaining({ event_rows_deleted: 2, event_rows_kept: 1 }),
    ]);
    expect(eventKeys(storage)).toEqual(['event|0800|a|f1']);
  });
});

it('the seal of a rebuild is taken at any version of other stripes, but not if it comes after another one', async () => {
  const storage = await stored([frame('a', 'f', EIGHT)]);
  const { table } = storage.process();
  const late = await readSeal(table, SHARD);
  await sealShard(table, late, 'rebuilding');
  await sealShard(table, await readSeal(table, SHARD), undefined);
  await expect(sealShard(table, late, 'rebuilding')).rejects.toThrow(WriteConflict);
  expect(await storage.process().record([frame('a', 'g', EIGHT)])).toEqual(['recorded']);
});

describe('closing a day', () => {
  it('waits until storage has not written any shard of the day for an hour: a restore, or a mistyped retention', async () => {
    const storage = await stored([frame('a', 'f', EIGHT)], 2);
    const others = all(9).map((index) => frame(`b-${index}`, 'f', EIGHT));
    at(LATER);
    await storage.process(2).record(others);
    expect(eventsOf(await run(storage, LATER + HOUR - 1_000n, { shards: 2 }))).toEqual(['day is not quiet']);
    expect(eventsOf(await run(storage, LATER + HOUR, { shards: 2 }))).toEqual(['day sealed']);
  });

  it.each([
    [2n * DAY - 1_000n, []],
    [2n * DAY, ['day sealed']],
  ])('begins when the day ended as many days ago as it is retained: %i µs after its start', async (after, events) => {
    const storage = await stored([frame('a', 'f', EIGHT)]);
    expect(eventsOf(await run(storage, START + after))).toEqual(events);
  });

  it.each(['day|00', 'day|01'])(
    'is refused if %s is lost, because the seal would hide that; it holds up no other day',
    async (lost) => {
      const storage = await stored([frame('a', 'f', EIGHT), frame('a', 'f', EIGHT + DAY)]);
      const { table } = storage.process();
      // A second stripe.
      await table.insert(SHARD, 'day|01', {});
      await table.insert(SHARD, 'hour|08|01', {});
      await storage.change(lost, 'deleted');
      const lines = await run(storage, START + 9n * DAY);
      expect(lines).toEqual([
        ['day not closed', { day: DATE, kind: 'DamagedRow', partition: SHARD, row: lost }],
        ['day sealed', { day: '2026-11-22', shards: 1 }],
      ]);
      expect(storage.keys()).not.toContain(lost);
    },
  );

  it('deletes nothing before all of the day is backed up', async () => {
    const storage = await stored([frame('a', 'f', EIGHT), frame('a', 'g', EIGHT + HOUR)]);
    const container = new MemoryContainer();
    container.turn = (_, name) => {
      if (name.endsWith('/09.ndjson.gz')) throw new StorageTrouble(0, { reason: 'AuthorizationFailure' });
    };
    const closing = { container: async () => container };
    await run(storage, LATER, closing);
    const lines = await run(storage, LATER, closing);
    expect(lines).toContainEqual([
      'day not backed up',
      { day: DATE, shard: 0, hour: 9, kind: 'StorageTrouble', reason: 'AuthorizationFailure' },
    ]);
    expect(eventKeys(storage)).toHaveLength(2);
    container.turn = () => undefined;
    expect(eventsOf(await run(storage, LATER, closing))).toEqual(['hour backed up', 'day closed']);
    expect(container.names()).toEqual([`${SHARD}/08.ndjson.gz`, `${SHARD}/09.ndjson.gz`]);
    expect(eventKeys(storage)).toEqual([]);
  });

  it('goes on when storage throttles it, and when another process deletes the same rows', async () => {
    const storage = await stored([frame('a', 'f', EIGHT), frame('a', 'g', EIGHT)]);
    await run(storage);
    const failures = [new StorageTrouble(0), new WriteConflict()];
    storage.connection.turn = async ({ kind, rowKeys: [key = ''] }) => {
      const failure = kind === 'transact' && key.startsWith('event|') ? failures.shift() : undefined;
      if (failure === undefined) return;
      await storage.change('event|0800|a|f', 'deleted').catch(() => undefined);
      throw failure;
    };
    expect(eventsOf(await run(storage))).toEqual(['day closed']);
    expect([failures, eventKeys(storage)]).toEqual([[], []]);
  });

  it('backs up an hour whose counter row is lost', async () => {
    const storage = await stored([frame('a', 'f', EIGHT)]);
    const container = new MemoryContainer();
    const closing = { container: async () => container };
    await run(storage, LATER, closing);
    await storage.change('hour|08|00', 'deleted');
    await run(storage, LATER, closing);
    expect(container.linesOf(`${SHARD}/08.ndjson.gz`)).toHaveLength(1);
  });

  it('throws an unexpected error after all other days were closed', async () => {
    const storage = await stored([frame('a', 'f', EIGHT), frame('a', 'f', EIGHT + DAY)]);
    await run(storage, START + 9n * DAY);
    const page = storage.memory.page.bind(storage.memory);
    vi.spyOn(storage.memory, 'page').mockImplementation(async (partition, range, query) => {
      if (partition === SHARD && range.from === 'event|') throw new RangeError('a bug');
      return page(partition, range, query);
    });
    const lines: string[] = [];
    const log = (event: string): void => void lines.push(event);
    const { table } = storage.process();
    const closing = closeDays({ table, shards: 1, retentionDays: 1 }, { info: log, warn: log, error: log });
    await expect(closing).rejects.toThrow('a bug');
    expect(lines).toEqual(['day is being closed', 'day not closed', 'day closed']);
  });
});
