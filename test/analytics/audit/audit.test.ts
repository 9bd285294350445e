import { describe, expect, it, vi } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { rewriteDay, type RewriteOptions } from '../../../src/analytics/audit/rewrite.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { DAY_KEY, DAYS_PARTITION, SEALED_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { all, bytes, DATE, frame, HOUR, MemoryStorage, MINUTE, SHARD, SILENT, START } from '../counting.ts';

const MESSAGES = all(4).map((index) =>
  frame(`ridge-${index % 2}`, `f-${index}`, START + 8n * HOUR + BigInt(index) * (MINUTE + 4_999_999n), {
    detections: { smoke: index % 3, fire: 1 },
    reviewed: index % 2 === 0,
    annotations: { smoke: index },
  }),
);
const EVENT = 'event|0801|ridge-1|f-1';
const WHOLE = 'all cameras, 00:00:00 to 23:59:59.999999';

const recorded = async (messages = MESSAGES, shards = 1): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  await storage.process(shards).record(messages);
  return storage;
};
const audit = async (storage: MemoryStorage) => auditDay(storage.process().table, DATE);
const named = async (storage: MemoryStorage) => (await audit(storage)).differences.map(({ counter }) => counter);
const rewrite = async (storage: MemoryStorage, options: Partial<RewriteOptions> = {}) =>
  rewriteDay(storage.process().table, DATE, { say: () => undefined, ...options });
const demandRight = async (storage: MemoryStorage, messages = MESSAGES): Promise<void> => {
  const { is, should } = await storage.process().answered(messages);
  expect(is).toEqual(should);
};
const tally = (events: number): string => JSON.stringify({ events, reviewed: 0, annotated: 0, categories: {} });

// The world of counting plays concurrent requests, and audits and rewrites that are killed.
describe('damage is named, and a rewrite mends it', () => {
  const second = 'all cameras, 00:00:00 to 08:00:25.279840';
  it.each<readonly [string, Readonly<Record<string, NewProperties | 'deleted'>>, ...counters: string[]]>([
    ['a lost row of a stripe', { day: 'deleted' }, WHOLE],
    ['another number', { day: { day: tally(11) } }, WHOLE],
    ['a row of a later format', { day: { format: FORMAT + 1 } }, WHOLE],
    ['lost cameras of an hour', { day: { active_08: bytes(0) } }, 'all cameras, 08:00:00 to 08:59:59.999999'],
    [
      'other lost rows',
      { 'hour|08': 'deleted', 'minute|0800|00': 'deleted', 'camera|ridge-1': 'deleted' },
      'all cameras, minute 08:00:00',
      second,
      'ridge-1, hour 08:00:00',
    ],
    [
      'other rows that cannot be read, or have other numbers',
      {
        'hour|08': { tally_00: bytes(9, 9) },
        'minute|0800|00': { second_00: bytes(7) },
        'camera|ridge-0': { day: tally(4) },
        'camera|ridge-1': { minutes_08: bytes(0) },
      },
      'all cameras, minute 08:00:00',
      second,
      'list of cameras: ridge-0',
      'ridge-1, minute 08:01:00',
    ],
  ])('%s', async (_, damage, ...counters) => {
    const storage = await recorded();
    for (const [rowKey, properties] of Object.entries(damage)) await storage.change(rowKey, properties);
    expect(await named(storage)).toEqual(expect.arrayContaining(counters));
    await rewrite(storage);
    await demandRight(storage);
  });

  it.each<readonly [NewProperties | 'deleted', string]>([
    ['deleted', 'it is missing, and the day has rows'],
    [{ shards: 0 }, 'is damaged'],
  ])('the row of the day: %o', async (properties, damage) => {
    const storage = await recorded();
    await storage.change(DATE, properties, DAYS_PARTITION);
    const difference = { counter: 'row of the day', damage: expect.stringContaining(damage) };
    expect(await audit(storage)).toMatchObject({ row: undefined, differences: [difference] });
    await rewrite(storage);
    await demandRight(storage);
  });

  it('by how much an answer will change is said', async () => {
    const storage = await recorded();
    await storage.change('camera|ridge-1', { hour_08: tally(5) });
    const facts = [{ fact: 'total_events', answered: 5, counted: 2 }];
    const counter = 'ridge-1, hour 08:00:00';
    const { differences } = await audit(storage);
    expect(differences).toContainEqual({ counter, facts: expect.arrayContaining(facts), damage: undefined });
  });

  it.each<readonly [string, string, NewProperties | 'deleted', generation: number]>([
    ['a mark that no rewrite wrote', DAY_KEY, { mark: 77 }, 78],
    ['the number of an attempt that no rewrite wrote', SEALED_KEY, { attempt: 77 }, 78],
    ['a lost row that orders new stripes', SEALED_KEY, 'deleted', 1],
  ])('%s does no harm', async (_, rowKey, properties, generation) => {
    const storage = await recorded();
    await storage.change(rowKey, properties);
    expect(await named(storage)).toEqual([]);
    expect(await rewrite(storage)).toMatchObject({ generation });
    await storage.process().record(MESSAGES);
    await demandRight(storage);
  });

  it('of a closed day, by its samples', async () => {
    const storage = await recorded();
    await storage.change(DATE, { closes: '2026-11-21T00:00:00.000000Z' }, DAYS_PARTITION);
    const { table, days } = storage.process();
    await closeDays({ table, days, retentionDays: 0 }, SILENT);
    expect(await audit(storage)).toMatchObject({ closed: true, events: 4, differences: [] });
    await storage.change('hour|08', 'deleted');
    expect(await named(storage)).toContain('all cameras, minute 08:00:00');
  });
});

it('an audit names answers whose events change all the time, and calls nothing a difference', async () => {
  const storage = await recorded();
  const process = storage.process();
  let writes = 0;
  class WrittenTo extends Table {
    override async *pages(...args: Parameters<Table['pages']>) {
      yield* super.pages(...args);
      writes += 1;
      await process.record([frame('ridge-1', `new-${writes}`, START + 8n * HOUR)]);
    }
  }
  const { differences, unsettled } = await auditDay(new WrittenTo(storage.connection, { format: FORMAT }), DATE);
  expect(differences).toEqual([]);
  expect(unsettled).toContain(WHOLE);
});

it('an audit of a shard with 130,000 events, all in one minute, does not overflow the stack', async () => {
  const storage = await recorded();
  const properties = { ts_utc: '2026-11-21T00:00:00.000000Z' };
  for (const page of all(1_300)) {
    const rowKeys = all(100).map((index) => `event|0000|ridge-0|f-${page}-${index}`);
    await storage.connection.transact(
      SHARD,
      rowKeys.map((rowKey) => ({ kind: 'insert', rowKey, properties })),
    );
  }
  // By then the events themselves have answered. The questions to the reader take seconds.
  vi.spyOn(storage.connection, 'get').mockRejectedValue(new Error('enough'));
  vi.spyOn(storage.connection, 'get').mockResolvedValueOnce(storage.connection.rows(DAYS_PARTITION)[0]);
  await expect(audit(storage)).rejects.toThrow('enough');
});

it('an event row of a later format stops an audit, and a rewrite', async () => {
  const storage = await recorded();
  await storage.change(EVENT, { format: FORMAT + 1 });
  await expect(audit(storage)).rejects.toThrow(LaterFormat);
  await expect(rewrite(storage, { withoutUnreadable: true })).rejects.toThrow(LaterFormat);
});

it('a rewrite needs a clock that is at most five minutes off', async () => {
  const storage = await recorded();
  storage.now = () => Date.now() + 301_000;
  await expect(rewrite(storage)).rejects.toThrow('more than five minutes off');
  storage.now = () => Date.now() + 299_000;
  await rewrite(storage);
});

it('an event row that cannot be decoded is named, stops a rewrite with its key, or is left out and kept', async () => {
  const storage = await recorded();
  await storage.change(EVENT, { ts_utc: 'never' });
  expect((await audit(storage)).unreadable.map(({ row }) => row.rowKey)).toEqual([EVENT]);
  await expect(rewrite(storage)).rejects.toThrow(EVENT);
  const lines: string[] = [];
  await rewrite(storage, { withoutUnreadable: true, say: (line) => lines.push(line) });
  expect(lines.join('\n')).toContain(`left out ${EVENT}, which held {`);
  await demandRight(storage, MESSAGES.toSpliced(1, 1));
  // The next rewrite takes the copy along.
  const { generation } = await rewrite(storage);
  const rows = storage.connection.rows(shardPartition(DATE, 0, generation));
  const kept = rows.filter(({ rowKey }) => rowKey.startsWith('damaged|'));
  expect(kept.map(({ properties }) => properties['content'])).toEqual([expect.stringContaining('never')]);
  await storage.process().record(MESSAGES);
  await demandRight(storage);
});

it('a rewrite puts into further stripes what one has no room for', async () => {
  const crowd = all(800).map((index) =>
    frame(`c-${index % 16}`, `f-${index}`, START, { detections: { [`category-${index}`]: 1 } }),
  );
  const storage = await recorded(crowd, 8);
  await rewrite(storage, { shards: 1 });
  expect(storage.keys(shardPartition(DATE, 0, 1))).toContain('day 01');
  await demandRight(storage, crowd);
});
