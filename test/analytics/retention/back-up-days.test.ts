import { describe, expect, it, vi } from 'vitest';

import { backUpDays, type BackupDependencies } from '../../../src/analytics/retention/back-up-days.ts';
import { readSeal, sealShard } from '../../../src/analytics/rows/seal.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';
import { MemoryContainer } from '../../storage/memory-container.ts';
import { all, DATE, frame, HOUR, MemoryStorage, SHARD, START } from '../counting.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

const EIGHT = START + 8n * HOUR;
const [AT_8, AT_9] = [`${SHARD}/08.ndjson.gz`, `${SHARD}/09.ndjson.gz`];

/** A table with these events, a container, and a clock that is ahead of the start of the day. */
const stage = async (messages: readonly PlainMessage[], { shards = 1, after = 3n * DAY } = {}) => {
  const storage = new MemoryStorage();
  vi.spyOn(Date, 'now').mockReturnValue(Number((START + after) / 1_000n));
  await storage.process(shards).record(messages);
  const container = new MemoryContainer();
  /** A run of the timer. @returns what it logs */
  const backUp = async (options: Partial<BackupDependencies> = {}) => {
    const lines: (readonly [event: string, fields: object | undefined])[] = [];
    const log = (event: string, fields?: object): void => void lines.push([event, fields]);
    const dependencies = { table: storage.process().table, shards, container: async () => container, ...options };
    await backUpDays(dependencies, { info: log, warn: log, error: log });
    return lines;
  };
  return { storage, container, backUp };
};
const LOOKED = { days: 1, days_failed: 0, days_left: 0 };

describe('a backup', () => {
  it('is one file an hour with all its events; only an hour that has changed is written again', async () => {
    const { storage, container, backUp } = await stage([
      frame('a', 'f', EIGHT),
      frame('b', 'f', EIGHT, { reviewed: true }),
      frame('a', 'g', EIGHT + HOUR),
    ]);
    expect(await backUp()).toEqual([
      ['hour backed up', { day: DATE, shard: 0, hour: 8, events: 2, bytes: expect.any(Number) }],
      ['hour backed up', { day: DATE, shard: 0, hour: 9, events: 1, bytes: expect.any(Number) }],
      ['backups looked after', LOOKED],
    ]);
    expect(container.names()).toEqual([AT_8, AT_9]);
    expect(container.linesOf(AT_8)).toHaveLength(2);
    expect(container.factsOf(AT_8)).toMatchObject({ events: '2', removed: '0', unreadable: '0' });
    expect(await backUp()).toEqual([['backups looked after', LOOKED]]);
    // A difference of 0 is a change of the hour, too.
    await storage.process().record([frame('a', 'g', EIGHT + HOUR, { time: EIGHT + DAY })]);
    expect(await backUp()).toMatchObject([
      ['hour backed up', { hour: 9 }],
      ['backups looked after', LOOKED],
    ]);
  });

  it('of an unchanged day costs one query for all its hours, and reads no event', async () => {
    const { storage, backUp } = await stage(all(24).map((hour) => frame('a', 'f', START + BigInt(hour) * HOUR)));
    await backUp();
    const page = vi.spyOn(storage.memory, 'page');
    await backUp();
    expect(page.mock.calls.map(([, { from }]) => from)).toEqual(['hour|']);
  });

  it.each([
    [3n * DAY - 1_000n, 0],
    [3n * DAY, 1],
  ])('begins when the day ended two days ago: %i µs after its start', async (after, days) => {
    const { backUp } = await stage([frame('a', 'f', EIGHT)], { after });
    expect(await backUp()).toContainEqual(['backups looked after', { ...LOOKED, days }]);
  });

  it('with fewer events than the one before is kept beside it, with an error, until the hour has them again', async () => {
    const frames = all(5).map((index) => frame('a', `f${index}`, EIGHT));
    const { storage, container, backUp } = await stage(frames);
    await backUp();
    // The table is lost, and a part of the hour is sent again.
    storage.memory.drop();
    await storage.process().record(frames.slice(0, 2));
    const fewer = `${SHARD}/08.fewer.ndjson.gz`;
    expect(await backUp()).toMatchObject([
      ['backup has fewer events', { day: DATE, shard: 0, hour: 8, events: 2, before: 5 }],
      ['hour backed up', { events: 2 }],
      ['backups looked after', LOOKED],
    ]);
    expect([container.linesOf(AT_8).length, container.linesOf(fewer).length]).toEqual([5, 2]);
    expect(await backUp()).toEqual([['backups looked after', LOOKED]]);
    await storage.process().record(frames);
    expect(await backUp()).toMatchObject([
      ['hour backed up', { events: 5 }],
      ['backups looked after', LOOKED],
    ]);
  });

  it('of a sealed day is not written: event rows of a closed day are deleted bit by bit', async () => {
    const { storage, container, backUp } = await stage([frame('a', 'f', EIGHT)]);
    const { table } = storage.process();
    await sealShard(table, await readSeal(table, SHARD), 'closed');
    await backUp();
    expect(container.names()).toEqual([]);
  });
});

describe('a run', () => {
  it('begins with the newest day; an hour that fails holds up no other one', async () => {
    const days = [0n, 1n, 2n].map((day) => frame('a', 'f', EIGHT + day * DAY));
    const { container, backUp } = await stage([...days, frame('a', 'g', EIGHT + DAY + HOUR)], { after: 5n * DAY });
    container.turn = (request, name) => {
      if (request === 'write' && name === '2026-11-22.00/08.ndjson.gz') throw new StorageTrouble(0, { reason: 'away' });
    };
    expect(await backUp()).toMatchObject([
      ['hour backed up', { day: '2026-11-23' }],
      ['day not backed up', { day: '2026-11-22', shard: 0, hour: 8, kind: 'StorageTrouble', reason: 'away' }],
      ['hour backed up', { day: '2026-11-22', hour: 9 }],
      ['hour backed up', { day: '2026-11-21' }],
      ['backups looked after', { days: 3, days_failed: 1, days_left: 0 }],
    ]);
  });

  it('that ends leaves the rest to the next run, and says how many days that is', async () => {
    const { container, backUp } = await stage([frame('a', 'f', EIGHT), frame('a', 'f', EIGHT + DAY)], {
      after: 5n * DAY,
    });
    expect(await backUp({ runMs: 0 })).toEqual([['backups looked after', { days: 0, days_failed: 0, days_left: 2 }]]);
    // The time ends while the second day is read.
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    container.turn = (_, name) => {
      if (name === `${SHARD}/`) now += 1_000;
    };
    const ended = await backUp({ runMs: 1_000 });
    expect(ended).toMatchObject([
      ['hour backed up', { day: '2026-11-22' }],
      ['backups looked after', { days: 1, days_left: 1 }],
    ]);
    expect(container.names()).toEqual(['2026-11-22.00/08.ndjson.gz']);
    container.turn = () => undefined;
    expect(await backUp()).toMatchObject([
      ['hour backed up', { day: DATE }],
      ['backups looked after', { days: 2 }],
    ]);
  });
});
