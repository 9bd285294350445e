import { describe, expect, it, vi } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { rewriteDay, type RewriteOptions } from '../../../src/analytics/audit/rewrite.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { ALL_EVENTS, DAY_KEY, DAYS_PARTITION, SEALED_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import type { Page } from '../../../src/storage/connection.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import type { NewProperties, StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { all, bytes, CountingProcess, DATE, frame, HOUR, MINUTE, SHARD, SILENT, START } from '../counting.ts';

const MESSAGES = all(4).map((index) =>
  frame(`ridge-${index % 2}`, `f-${index}`, START + 8n * HOUR + BigInt(index) * (MINUTE + 4_999_999n), {
    detections: { smoke: index % 3, fire: 1 },
    reviewed: index % 2 === 0,
    annotations: { smoke: index },
  }),
);
const EVENT = 'event|0801|ridge-1|f-1';
const WHOLE = 'all cameras, 00:00:00 to 23:59:59.999999';

const recorded = async (): Promise<MemoryTable> => {
  const table = new MemoryTable();
  await new CountingProcess(table).record(MESSAGES);
  return table;
};
const audit = async (table: MemoryTable) => auditDay(new Table(table, { format: FORMAT }), DATE);
const named = async (table: MemoryTable) => (await audit(table)).differences.map(({ counter }) => counter);
const rewrite = async (table: MemoryTable, options: Partial<RewriteOptions> = {}) =>
  rewriteDay(new Table(table, { format: FORMAT }), DATE, { say: () => undefined, ...options });
const demandRight = async (table: MemoryTable, messages = MESSAGES): Promise<void> => {
  const { is, should } = await new CountingProcess(table).answered(messages);
  expect(is).toEqual(should);
};
const change = async (table: MemoryTable, rowKey: string, properties: NewProperties | 'deleted', partition = SHARD) =>
  table.transact(
    partition,
    properties === 'deleted' ? [{ kind: 'delete', rowKey }] : [{ kind: 'merge', rowKey, etag: '*', properties }],
  );
const tally = (events: number): string => JSON.stringify({ events, reviewed: 0, annotated: 0, categories: {} });

// The world of counting plays concurrent requests, and audits and rewrites that are killed.
describe('damage is named, and a rewrite mends it', () => {
  const second = 'all cameras, 00:00:00 to 08:00:25.279840';
  it.each<readonly [string, Readonly<Record<string, NewProperties | 'deleted'>>, ...counters: string[]]>([
    ['a lost row of a stripe', { day: 'deleted' }, WHOLE],
    ['another number', { day: { day: tally(11) } }, WHOLE],
    ['a number that cannot be read', { day: { day: '{' } }, WHOLE],
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
    const table = await recorded();
    for (const [rowKey, properties] of Object.entries(damage)) await change(table, rowKey, properties);
    expect(await named(table)).toEqual(expect.arrayContaining(counters));
    await rewrite(table);
    await demandRight(table);
  });

  it('by how much an answer will change is said', async () => {
    const table = await recorded();
    await change(table, 'camera|ridge-1', { hour_08: tally(5) });
    const { differences } = await audit(table);
    expect(differences.find(({ counter }) => counter === 'ridge-1, hour 08:00:00')?.facts).toContainEqual({
      fact: 'total_events',
      answered: 5,
      counted: 2,
    });
  });

  it.each<readonly [string, string, NewProperties | 'deleted', generation: number]>([
    ['a mark that no rewrite wrote', 'day', { mark: 77 }, 78],
    ['the number of an attempt that no rewrite wrote', SEALED_KEY, { attempt: 77 }, 78],
    ['a lost row that orders new stripes', SEALED_KEY, 'deleted', 1],
  ])('%s does no harm', async (_, rowKey, properties, generation) => {
    const table = await recorded();
    await change(table, rowKey, properties);
    expect(await named(table)).toEqual([]);
    expect(await rewrite(table)).toMatchObject({ generation });
    await new CountingProcess(table).record(MESSAGES);
    await demandRight(table);
  });

  it('of a closed day, by its samples', async () => {
    const table = await recorded();
    const process = new CountingProcess(table);
    await change(table, DATE, { closes: '2026-11-21T00:00:00.000000Z' }, DAYS_PARTITION);
    await closeDays({ table: process.table, days: process.days, retentionDays: 0 }, SILENT);
    expect(await audit(table)).toMatchObject({ closed: true, events: 4, differences: [] });
    await change(table, 'hour|08', 'deleted');
    expect(await named(table)).toContain('all cameras, minute 08:00:00');
  });
});

it('an audit names answers whose events change all the time, and calls nothing a difference', async () => {
  const table = await recorded();
  const process = new CountingProcess(table);
  let writes = 0;
  class WrittenTo extends Table {
    override async *pages(...args: Parameters<Table['pages']>) {
      yield* super.pages(...args);
      writes += 1;
      await process.record([frame('ridge-1', `new-${writes}`, START + 8n * HOUR)]);
    }
  }
  const { differences, unsettled } = await auditDay(new WrittenTo(table, { format: FORMAT }), DATE);
  expect(differences).toEqual([]);
  expect(unsettled).toContain(WHOLE);
});

it('an audit of a shard with 130,000 events, all in one minute, does not overflow the stack', async () => {
  const properties = { ts_utc: '2026-11-21T00:00:00.000000Z' };
  class Crowded extends MemoryTable {
    override async page(...args: Parameters<MemoryTable['page']>): Promise<Page> {
      const [partitionKey, range, { continuation = '0' }] = args;
      if (range.from !== ALL_EVENTS.from) return super.page(...args);
      const first = Number(continuation);
      const rows = all(1_000).map((index) => {
        return { partitionKey, rowKey: `event|0000|ridge-0|f-${first + index}`, etag: 'W/"1"', properties };
      });
      return { rows, continuation: first < 129_000 ? String(first + 1_000) : undefined };
    }

    override async get(...args: Parameters<MemoryTable['get']>): Promise<StoredRow | undefined> {
      // By now the events themselves have answered. The other questions take seconds.
      if (args[1] === DAY_KEY) throw new Error('enough');
      return super.get(...args);
    }
  }
  await expect(audit((await recorded()).copyTo(new Crowded()))).rejects.toThrow('enough');
});

it('an event row of a later format stops an audit, and a rewrite', async () => {
  const table = await recorded();
  await change(table, EVENT, { format: FORMAT + 1 });
  await expect(audit(table)).rejects.toThrow(LaterFormat);
  await expect(rewrite(table, { withoutUnreadable: true })).rejects.toThrow(LaterFormat);
});

it('a rewrite needs a clock that is at most five minutes off', async () => {
  const table = await recorded();
  const clock = vi.spyOn(table, 'now');
  for (const offMs of [-301_000, 301_000]) {
    clock.mockReturnValue(Date.now() + offMs);
    await expect(rewrite(table)).rejects.toThrow('more than five minutes off');
  }
  clock.mockReturnValue(Date.now() + 299_000);
  await rewrite(table);
});

it('an event row that cannot be decoded is named, stops a rewrite with its key, or is left out and kept', async () => {
  const table = await recorded();
  await change(table, EVENT, { ts_utc: 'never' });
  expect((await audit(table)).unreadable.map(({ row }) => row.rowKey)).toEqual([EVENT]);
  await expect(rewrite(table)).rejects.toThrow(EVENT);
  const lines: string[] = [];
  await rewrite(table, { withoutUnreadable: true, say: (line) => lines.push(line) });
  expect(lines.join('\n')).toContain(`left out ${EVENT}, which held {`);
  await demandRight(table, MESSAGES.toSpliced(1, 1));
  // The next rewrite takes the copy along.
  const { generation } = await rewrite(table);
  const rows = table.rows(shardPartition(DATE, 0, generation));
  const kept = rows.filter(({ rowKey }) => rowKey.startsWith('damaged|'));
  expect(kept.map(({ properties }) => properties['content'])).toEqual([expect.stringContaining('never')]);
  await new CountingProcess(table).record(MESSAGES);
  await demandRight(table);
});

it('a rewrite puts into further stripes what one has no room for', async () => {
  const table = new MemoryTable();
  const crowd = all(800).map((index) =>
    frame(`c-${index % 16}`, `f-${index}`, START, { detections: { [`category-${index}`]: 1 } }),
  );
  await new CountingProcess(table, 8).record(crowd);
  await rewrite(table, { shards: 1 });
  expect(table.rows(shardPartition(DATE, 0, 1)).map(({ rowKey }) => rowKey)).toContain('day 01');
  await demandRight(table, crowd);
});
