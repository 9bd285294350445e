/** Audits the busiest hour of a day of 5 million events of 5,000 cameras, then prints the most memory that this process had, in MB. */
import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { instantFrom, sortableInstant } from '../../../src/analytics/model/instant.ts';
import { FORMAT } from '../../../src/analytics/rows/properties.ts';
import type { Page } from '../../../src/storage/connection.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { DATE, SHARD, START } from '../counting.ts';

const CAMERAS = 5_000;
const EVENTS_A_MINUTE = 3_472;

class HourIsOver extends Error {}

/** A table whose event rows are made when they are read. */
class BusyHour extends MemoryTable {
  override async page(...args: Parameters<MemoryTable['page']>): Promise<Page> {
    const [, { from }, { continuation }] = args;
    if (from === 'event|09') throw new HourIsOver();
    if (from !== 'event|08') return super.page(...args);
    const at = Number(continuation ?? 0);
    const rows = Array.from({ length: 1_000 }, (_, index) => eventRow(at + index));
    const isLast = at + 1_000 >= 60 * EVENTS_A_MINUTE;
    return { rows, continuation: isLast ? undefined : String(at + 1_000) };
  }
}

const eventRow = (number: number) => {
  const minute = Math.min(59, Math.floor(number / EVENTS_A_MINUTE));
  const time = sortableInstant(instantFrom(START + BigInt(8 * 60 + minute) * 60_000_000n));
  const camera = `camera-${String((number * 7) % CAMERAS).padStart(5, '0')}`;
  return {
    partitionKey: SHARD,
    rowKey: `event|08${String(minute).padStart(2, '0')}|${camera}|frame-${number}`,
    etag: `W/"${number}"`,
    properties: { format: FORMAT, ts_utc: time, detections: '{"smoke":1,"fire":2}', detections_time: time },
  };
};

const connection = new BusyHour();
await connection.create();
try {
  await auditDay(new Table(connection, { format: FORMAT }), 1, DATE);
} catch (error) {
  if (!(error instanceof HourIsOver)) throw error;
}
console.log(Math.round(process.resourceUsage().maxRSS / 1_024));
