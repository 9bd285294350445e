import { expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { ANY_VERSION } from '../../../src/storage/row.ts';
import { DATE, frame, MemoryStorage, SHARD, START } from '../counting.ts';

// Rows as a later version leaves them, counted on by this one.

const LONG = { type: 'Int64', value: '9007199254740993' };

it.each(['remembers', 'does not remember'])(
  'what a later version has added to rows and their JSON stays as it was when a process that %s them counts on',
  async (memory) => {
    const storage = new MemoryStorage();
    const first = storage.process();
    await first.record([frame('a', 'one')]);
    for (const { rowKey, properties } of storage.connection.rows(SHARD)) {
      const { day } = properties;
      const more = typeof day === 'string' && {
        day: JSON.stringify({ ...JSON.parse(day), shown: 7, categories: { smoke: [1, 0, 0, 9] } }),
      };
      await storage.connection.transact(SHARD, [
        { kind: 'merge', rowKey, etag: ANY_VERSION, properties: { zone: 'north', size: LONG, ...more } },
      ]);
    }
    const marked = storage.connection.rows(SHARD).map(({ rowKey }) => rowKey);
    const process = memory === 'remembers' ? first : storage.process();
    // Another frame, and news of the first one; and both once more, from memory.
    for (let index = 1n; index <= 2n; index += 1n) {
      await process.record([
        frame('a', `more-${index}`, START + index),
        frame('a', 'one', START, { time: START + index, annotations: { smoke: Number(index) } }),
      ]);
    }
    const rows = storage.connection.rows(SHARD).filter(({ rowKey }) => marked.includes(rowKey));
    expect(rows).toHaveLength(marked.length);
    for (const { properties } of rows) expect(properties).toMatchObject({ zone: 'north', size: LONG });
    const days = rows.flatMap(({ properties: { day } }): unknown[] => (typeof day === 'string' ? JSON.parse(day) : []));
    const count: unknown = expect.any(Number);
    const kept = { shown: 7, categories: { smoke: [count, count, count, 9] } };
    expect(days).toMatchObject([kept, kept]);
    expect((await auditDay(process.table, DATE)).differences).toEqual([]);
  },
);
