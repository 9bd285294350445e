import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { rewriteDay, type RewriteOptions, RewriteRefused } from '../../../src/analytics/audit/rewrite.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { DAYS_PARTITION, SEALED_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { all, CountingProcess, DATE, frame, SHARD, START, WHOLE_DAY } from '../counting.ts';
import { Oracle, type PlainMessage } from '../oracle.ts';

const MINUTE = 60_000_000n;
const messages: readonly PlainMessage[] = all(12).map((index) =>
  frame(`ridge-${index % 4}`, `f-${index}`, START + (479n + BigInt(index)) * MINUTE + BigInt(index) * 4_999_999n, {
    detections: { smoke: index % 3, fire: 1 },
    reviewed: index % 2 === 0,
    annotations: { smoke: index % 4 === 0 ? 1 : 0 },
  }),
);
const EVENT = 'event|0800|ridge-1|f-1';

const recorded = async (shards = 1): Promise<MemoryTable> => {
  const table = new MemoryTable();
  await new CountingProcess(table, shards).record(messages);
  return table;
};
const tableOf = (connection: MemoryTable): Table => new Table(connection, { format: FORMAT });
const audit = async (table: MemoryTable) => auditDay(tableOf(table), DATE);
const rewrite = async (table: MemoryTable, options: Partial<RewriteOptions> = {}) =>
  rewriteDay(tableOf(table), DATE, { say: () => undefined, ...options });

const demandRight = async (table: MemoryTable, should = messages): Promise<void> => {
  expect(await audit(table)).toMatchObject({ differences: [], unreadable: [], unsettled: [] });
  expect(await new CountingProcess(table).answer(WHOLE_DAY)).toEqual(new Oracle(should).answer(WHOLE_DAY));
};
const change = async (table: MemoryTable, rowKey: string, properties: NewProperties | 'deleted', partition = SHARD) =>
  table.transact(
    partition,
    properties === 'deleted' ? [{ kind: 'delete', rowKey }] : [{ kind: 'merge', rowKey, etag: '*', properties }],
  );
const named = async (table: MemoryTable) => (await audit(table)).differences.map(({ counter }) => counter);
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
const tally = (events: number): string => JSON.stringify({ events, reviewed: 0, annotated: 0, categories: {} });

describe('an audit', () => {
  it('of a day that nobody damaged finds nothing', async () => {
    for (const shards of [1, 3]) await demandRight(await recorded(shards));
    expect(await audit(new MemoryTable())).toMatchObject({ row: undefined, differences: [] });
  });

  it('says by how much an answer will change', async () => {
    const table = await recorded();
    await change(table, 'camera|ridge-1', { hour_08: tally(5) });
    const { differences } = await audit(table);
    expect(differences.find(({ counter }) => counter === 'ridge-1, hour 08:00:00')?.facts).toContainEqual({
      fact: 'total_events',
      answered: 5,
      counted: 3,
    });
  });

  it('names answers whose events change all the time, and calls nothing a difference', async () => {
    const table = await recorded();
    const process = new CountingProcess(table);
    let writes = 0;
    class WrittenTo extends Table {
      override async *pages(...args: Parameters<Table['pages']>) {
        yield* super.pages(...args);
        writes += 1;
        await process.record([frame('ridge-1', 'f-1', messages[1]?.ts, { time: START + BigInt(1_000 + writes) })]);
        await process.record([frame('ridge-9', `new-${writes}`, START + 600n * MINUTE)]);
      }
    }
    const { differences, unsettled } = await auditDay(new WrittenTo(table, { format: FORMAT }), DATE);
    expect(differences).toEqual([]);
    expect(unsettled).toContain('all cameras, 00:00:00 to 23:59:59.999999');
  });

  it('stops at an event row of a later format, and so does a rewrite', async () => {
    const table = await recorded();
    await change(table, EVENT, { format: FORMAT + 1 });
    await expect(audit(table)).rejects.toThrow(LaterFormat);
    await expect(rewrite(table, { withoutUnreadable: true })).rejects.toThrow(LaterFormat);
  });
});

describe('damage is named, and a rewrite mends it', () => {
  it.each<readonly [rowKey: string, NewProperties | 'deleted', counter: string]>([
    ['day', 'deleted', 'all cameras, 00:00:00 to 23:59:59.999999'],
    ['day', { day: tally(11) }, 'all cameras, 00:00:00 to 23:59:59.999999'],
    ['day', { day: '{' }, 'all cameras, 00:00:00 to 23:59:59.999999'],
    ['day', { cameras: 'ridge-0\nridge-1' }, 'all cameras, 00:00:00 to 23:59:59.999999'],
    ['day', { tally_08: bytes(1) }, 'all cameras, 08:00:00 to 08:59:59.999999'],
    ['day', { active_08: bytes(0) }, 'all cameras, 08:00:00 to 08:59:59.999999'],
    ['day', { stripes: 2 }, 'all cameras, 00:00:00 to 23:59:59.999999'],
    ['day', { format: FORMAT + 1 }, 'all cameras, 00:00:00 to 23:59:59.999999'],
    ['hour|08', 'deleted', 'all cameras, minute 08:00:00'],
    ['hour|08', { tally_00: bytes(9, 9) }, 'all cameras, minute 08:00:00'],
    ['minute|0800|00', 'deleted', 'all cameras, 07:59:17.360508 to 08:00:25.279840'],
    ['minute|0800|00', { second_04: bytes(7) }, 'all cameras, 07:59:17.360508 to 08:00:25.279840'],
    ['camera|ridge-1', 'deleted', 'ridge-1, hour 08:00:00'],
    ['camera|ridge-1', { day: tally(4) }, 'list of cameras: ridge-1'],
    ['camera|ridge-1', { minutes_08: bytes(0) }, 'ridge-1, minute 08:00:00'],
    ['camera|ridge-1', { camera_index: 2 }, 'ridge-1, 08:00:04.999999 to 08:08:44.999991'],
  ])('%s, %j', async (rowKey, properties, counter) => {
    const table = await recorded();
    await change(table, rowKey, properties);
    const counters = await named(table);
    expect(
      counters.some((one) => one === counter),
      counters.join('\n'),
    ).toBe(true);
    await rewrite(table);
    await demandRight(table);
  });

  it.each<readonly [string, NewProperties | 'deleted', string]>([
    ['marks and numbers that no rewrite wrote', { mark: 77 }, 'day'],
    ['a number of an attempt that no rewrite wrote', { attempt: 77 }, SEALED_KEY],
    ['the row that orders new stripes', 'deleted', SEALED_KEY],
  ])('%s do no harm', async (_, properties, rowKey) => {
    const table = await recorded();
    await change(table, rowKey, properties);
    await demandRight(table);
    const { generation } = await rewrite(table);
    expect(generation).toBe(properties === 'deleted' ? 1 : 78);
    await demandRight(table);
    await new CountingProcess(table).record(messages);
    await demandRight(table);
  });

  it('the row of the day is lost: only a rewrite counts the day again', async () => {
    for (const shards of [1, 3]) {
      const table = await recorded(shards);
      await change(table, DATE, 'deleted', DAYS_PARTITION);
      expect(await named(table)).toEqual(['row of the day']);
      await expect(new CountingProcess(table).record(messages)).rejects.toThrow('it is missing');
      await rewrite(table);
      await demandRight(table);
      await change(table, DATE, { shards: 'x' }, DAYS_PARTITION);
      await rewrite(table, { shards: 2 });
      await demandRight(table);
    }
  });

  it('an event row that cannot be decoded stops it with its key, or is left out and stays', async () => {
    const table = await recorded();
    await change(table, EVENT, { facets: '{' });
    await change(table, EVENT, { ts_utc: 'never' });
    expect((await audit(table)).unreadable.map(({ row }) => row.rowKey)).toEqual([EVENT]);
    await expect(rewrite(table)).rejects.toThrow(EVENT);
    const lines: string[] = [];
    await rewrite(table, { withoutUnreadable: true, say: (line) => lines.push(line) });
    expect(lines.join('\n')).toContain(`left out ${EVENT}, which held {`);
    await demandRight(
      table,
      messages.filter(({ eventId }) => eventId !== 'f-1'),
    );
    // Again: the copy moves on with the day.
    const { generation } = await rewrite(table);
    const damaged = table
      .rows(shardPartition(DATE, 0, generation))
      .filter(({ rowKey }) => rowKey.startsWith('damaged|'));
    expect(damaged.map(({ properties }) => properties['content'])).toEqual([expect.stringContaining('never')]);
    await new CountingProcess(table).record(messages);
    await demandRight(table);
  });
});

describe('a rewrite', () => {
  it('gives the day other numbers of shards, and back', async () => {
    const table = await recorded();
    for (const shards of [8, 1, 3]) {
      expect(await rewrite(table, { shards })).toMatchObject({ shards });
      await demandRight(table);
    }
  });

  it('puts into further stripes what one has no room for', async () => {
    const table = new MemoryTable();
    const crowd = all(1_600).map((index) =>
      frame(`c-${index % 40}`, `f-${index}`, START, { detections: { [`category-${index}`]: 1 } }),
    );
    await new CountingProcess(table, 8).record(crowd);
    await rewrite(table, { shards: 1 });
    expect(table.rows(shardPartition(DATE, 0, 1)).map(({ rowKey }) => rowKey)).toContain('day 02');
    expect(await new CountingProcess(table).answer(WHOLE_DAY)).toEqual(new Oracle(crowd).answer(WHOLE_DAY));
  });

  it('of a day that closes or is closed is refused, and a closed day is audited by its samples', async () => {
    const table = await recorded();
    const process = new CountingProcess(table);
    await process.days.close(DATE);
    await expect(rewrite(table)).rejects.toThrow(RewriteRefused);
    await change(table, DATE, { closes: '2026-11-21T00:00:00.000000Z' }, DAYS_PARTITION);
    await closeDays({ table: process.table, days: new CountingProcess(table).days, retentionDays: 0 }, SILENT);
    expect(table.rows(SHARD).filter(({ rowKey }) => rowKey.startsWith('event|'))).toEqual([]);
    expect(await audit(table)).toMatchObject({ closed: true, events: 12, differences: [] });
    await change(table, 'hour|08', 'deleted');
    expect(await named(table)).toContain('all cameras, minute 08:00:00');
  });

  it('of a closed day whose row is lost brings the row back, and counts nothing anew', async () => {
    for (const shards of [1, 3]) {
      const table = await recorded(shards);
      const process = new CountingProcess(table);
      await process.days.close(DATE);
      await change(table, DATE, { closes: '2026-11-21T00:00:00.000000Z' }, DAYS_PARTITION);
      await closeDays({ table: process.table, days: new CountingProcess(table).days, retentionDays: 0 }, SILENT);
      await change(table, DATE, 'deleted', DAYS_PARTITION);
      expect(await rewrite(table)).toMatchObject({ shards, generation: 0, closes: expect.anything() });
      expect(await audit(table)).toMatchObject({ closed: true, differences: [] });
      expect(await new CountingProcess(table).record(messages)).toMatchObject(
        messages.map(() => ({ code: 'day_closed' })),
      );
      await expect(rewrite(table)).rejects.toThrow('closed');
    }
  });
});

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
