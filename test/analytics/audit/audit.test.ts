import { describe, expect, it, vi } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT, readTally, tallyValues } from '../../../src/analytics/rows/properties.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import { all, bytes, DATE, frame, type MemoryStorage, recorded, SHARD, SILENT, START } from '../counting.ts';
import { DAY } from '../oracle.ts';
import { counting, type Damage, damaged, EIGHT, MESSAGES } from './recorded-day.ts';

const audit = async (storage: MemoryStorage, shards = 1) => auditDay(storage.process().table, shards, DATE);
const namesIn = async (storage: MemoryStorage): Promise<readonly string[]> =>
  (await audit(storage)).differences.first.map(({ name }) => name);

const NONE = { count: 0, first: [] };

describe('an audit', () => {
  it.each([1, 3])(
    'finds no difference in %i shards that were recorded, and counts what it compares',
    async (shards) => {
      const storage = await recorded(MESSAGES, shards);
      const right = { sealed: undefined, isStill: true, events: 4, differences: NONE, unreadable: NONE };
      expect(await audit(storage, shards)).toMatchObject(right);
      expect((await audit(storage, shards)).compared).toBeGreaterThan(60);
    },
  );

  it('of a day without events finds no difference', async () => {
    const storage = await recorded([frame('a', 'f', START + DAY)]);
    expect(await audit(storage)).toMatchObject({ events: 0, differences: NONE, isStill: true });
  });

  it.each<readonly [string, Damage, names: string[]]>([
    ['a lost row of the day', { 'day|00': 'deleted' }, ['all cameras, by day from 00:00:00']],
    ['another number of the day', { 'day|00': counting(11) }, ['all cameras, day: total_events']],
    [
      'lost cameras of an hour',
      { 'day|00': { active_08: bytes(0) } },
      ['all cameras, hour 08:00:00: active camera ridge-0'],
    ],
    ['a lost row of an hour', { 'hour|08|00': 'deleted' }, ['all cameras, minute 08:00:00: total_events', 'last seen']],
    ['a minute that lacks its cameras', { 'hour|08|00': { active_03: bytes(0) } }, ['last seen: ridge-1 at 08:01:00']],
    [
      'a minute of another camera',
      { 'hour|08|00': { active_00: bytes(2) } },
      ['all cameras, minute 08:00:00: active camera ridge-0', 'all cameras, minute 08:00:00: active camera ridge-1'],
    ],
    [
      'an hour that cannot be read',
      { 'hour|08|00': { tally_00: bytes(9, 9) } },
      ['all cameras, by minute from 08:00:00'],
    ],
    [
      'a lost row of a camera',
      { 'camera|ridge-1|00': 'deleted' },
      ['ridge-1, minute 08:01:00: total_events', 'ridge-1, day: total_events'],
    ],
    ['another number of a camera', { 'camera|ridge-0|00': counting(4) }, ['ridge-0, day: total_events']],
    [
      'minutes that cannot be read',
      { 'camera|ridge-1|00': { minutes_08: bytes(77) } },
      ['ridge-1, by minute from 08:00:00'],
    ],
    [
      'a camera without events',
      { 'camera|nobody|00': { format: FORMAT, ...counting(2) } },
      ['nobody, day: total_events'],
    ],
  ])('names %s', async (_, damage, names) => {
    expect(await namesIn(await damaged(damage))).toEqual(expect.arrayContaining(names));
  });

  it('names how often the AI was right, and a removed event that is counted', async () => {
    const storage = await recorded(MESSAGES);
    for (const rowKey of ['day|00', 'camera|ridge-0|00']) {
      const row = await storage.memory.get(SHARD, rowKey, {});
      const stored = readTally(row?.properties ?? {});
      const categories = Array.from(
        stored.categories,
        ([category, counts]) => [category, Object.assign({}, counts, { flagged: 3 })] as const,
      );
      await storage.change(rowKey, tallyValues({ ...stored, categories: new Map(categories) }, stored));
    }
    const { differences } = await audit(storage);
    expect(differences.first).toContainEqual({ name: 'accuracy: flagged.fire', answered: 3, counted: 2 });
    expect(differences.first).toContainEqual({ name: 'ridge-0, day: flagged.fire', answered: 3, counted: 2 });
    await storage.change('event|1000|test|f-removed', { removed: false });
    expect(await namesIn(storage)).toContain('test, minute 10:00:00: total_events');
  });

  it('says that the day was written meanwhile', async () => {
    const storage = await recorded(MESSAGES);
    const process = storage.process();
    let writes = 0;
    storage.connection.turn = async ({ kind, rowKeys }) => {
      if (kind !== 'page' || rowKeys[0] !== 'event|09') return;
      writes += 1;
      await process.record([frame('ridge-1', `new-${writes}`, EIGHT)]);
    };
    expect(await audit(storage)).toMatchObject({ isStill: false });
  });

  it('compares the counters of a closed day with one another', async () => {
    const storage = await recorded(MESSAGES);
    const { table } = storage.process();
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 400 * 86_400_000);
    for (let runs = 0; runs < 2; runs += 1) await closeDays({ table, shards: 1, retentionDays: 1 }, SILENT);
    expect(storage.keys().filter((key) => key.startsWith('event|'))).toEqual([]);
    expect(await audit(storage)).toMatchObject({ sealed: 'closed', events: 4, differences: NONE });
    for (const [rowKey, properties, name] of [
      ['hour|08|00', { tally_00: bytes(0) }, 'all cameras, by minute from 08:00:00'],
      ['camera|ridge-1|00', counting(9), 'ridge-1, day: total_events'],
      ['day|00', counting(9), 'all cameras, day: total_events'],
    ] as const) {
      await storage.change(rowKey, properties);
      expect(await namesIn(storage)).toContain(name);
    }
  });

  it('names event rows that cannot be decoded', async () => {
    const key = 'event|0801|ridge-1|f-1';
    const { unreadable } = await audit(await damaged({ [key]: { ts_utc: 'never' } }));
    expect(unreadable).toEqual({ count: 1, first: [expect.stringContaining(`${SHARD} ${key}: row`)] });
  });

  it.each(['event|0801|ridge-1|f-1', 'hour|08|00'])('is stopped by a later format of %s', async (key) => {
    await expect(audit(await damaged({ [key]: { format: FORMAT + 1 } }))).rejects.toThrow(LaterFormat);
  });

  it('keeps no more than a thousand differences, and counts them all', async () => {
    const cameras = all(600).map((index) => frame(`c-${index}`, 'f', EIGHT));
    const storage = await recorded(cameras);
    for (const key of storage.keys().filter((rowKey) => rowKey.startsWith('camera|'))) {
      await storage.change(key, counting(7));
    }
    const { differences } = await audit(storage);
    expect(differences.count).toBeGreaterThan(1_000);
    expect(differences.first).toHaveLength(1_000);
  });

  it('keeps the keys of no more than a thousand unreadable event rows, and counts them all', async () => {
    const storage = await recorded(all(1_100).map((index) => frame('c', `f-${index}`, EIGHT)));
    for (const key of storage.keys().filter((rowKey) => rowKey.startsWith('event|'))) {
      await storage.change(key, { ts_utc: 'never' });
    }
    const { unreadable } = await audit(storage);
    expect(unreadable.count).toBe(1_100);
    expect(unreadable.first).toHaveLength(1_000);
  });
});
