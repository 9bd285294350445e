import { describe, expect, it } from 'vitest';

import { instantFrom } from '../../src/analytics/model/instant.ts';
import type { RowWrite } from '../../src/storage/row.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { CountingProcess } from './counting.ts';
import { DAY, type PlainMessage } from './oracle.ts';
import { rowBytes } from './table-limits.ts';

const START = 20_778n * DAY;
const CAMERAS = 1_300;

/** Keeps the bytes of the whole rows that each transaction touched. */
class WeighedTable extends MemoryTable {
  readonly bytes: number[] = [];

  override async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partitionKey, writes);
    const rows = await Promise.all(writes.map(async ({ rowKey }) => this.get(partitionKey, rowKey, {})));
    this.bytes.push(rows.reduce((sum, row) => sum + (row === undefined ? 0 : rowBytes(row)), 0));
    return etags;
  }
}

const frames = (count: number, from: bigint, step: bigint, name: string): readonly PlainMessage[] =>
  Array.from({ length: count }, (_, index) => {
    const ts = from + BigInt(index) * step;
    const detections = { ...(index % 7 === 0 && { smoke: 1 }), ...(index % 11 === 0 && { structure: 2 }) };
    return {
      cameraId: `camera-${String(index % CAMERAS).padStart(4, '0')}`,
      eventId: `${name}-${index}`,
      ts,
      time: instantFrom(ts),
      detections,
    };
  });

describe('the rows that a commit of one event touches, with 1,300 cameras', () => {
  it('have fewer than 12,000 bytes in all, at 25 frames a second, at the end of an hour', async () => {
    const table = new WeighedTable();
    const process = new CountingProcess(table, 1);
    // Each camera once a minute until 07:58, and then 25 frames a second.
    const minute = 60_000_000n;
    for (const hour of [0n, 3n, 6n, 7n]) {
      for (const at of [0n, 20n, 57n]) {
        const from = START + hour * 60n * minute + at * minute;
        await process.record(frames(CAMERAS, from, minute / BigInt(CAMERAS), `${hour}-${at}`));
      }
    }
    const second = frames(3_000, START + 478n * minute, 40_000n, 'last');
    await process.record(second.slice(0, -200));
    table.bytes.splice(0);
    for (const one of second.slice(-200)) await process.record([one]);
    expect(table.bytes).toHaveLength(200);
    expect(Math.max(...table.bytes)).toBeLessThan(12_000);
  }, 60_000);
});
