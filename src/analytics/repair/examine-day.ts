import pLimit from 'p-limit';

import { ALL_SHARDS, auditDay, type AuditReport } from '../audit/audit.ts';
import type { Day } from '../model/day.ts';
import { DayShards } from '../rows/day-shards.ts';
import { dayPartition, FENCE_KEY, REPAIR_KEY, SHARDS_KEY, shardPartition, TOTAL_KEY } from '../rows/keys.ts';
import type { CounterTable } from '../rows/table.ts';

/** The day is closed: its event rows are deleted, and counters that are counted from them would become zero. */
export class ClosedDay extends Error {
  override readonly name = 'ClosedDay';
}

/** An audit, and what tells whether another repair added differences since. */
export interface Examination {
  readonly report: AuditReport;
  /** The version of each shard's `repair` row before the audit; undefined: there was none. */
  readonly guards: ReadonlyMap<number, string | undefined>;
}

const PARALLEL_READS = 16;

/**
 * Audits a day that is to be repaired.
 *
 * @throws {ClosedDay}
 * @throws {AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const examineDay = async (table: CounterTable, day: Day): Promise<Examination> => {
  const limit = pLimit(PARALLEL_READS);
  const isClosed = async (partition: string, rowKey: string): Promise<boolean> =>
    (await table.get(partition, rowKey, ['closed']))?.properties['closed'] === true;
  const guards = new Map<number, string | undefined>();
  const closed = await limit.map(ALL_SHARDS, async (shard) => {
    const partition = shardPartition(day, shard);
    guards.set(shard, (await table.get(partition, REPAIR_KEY))?.etag);
    return (await isClosed(partition, FENCE_KEY)) || isClosed(partition, TOTAL_KEY);
  });
  if (closed.includes(true) || (await isClosed(dayPartition(day), SHARDS_KEY))) {
    throw new ClosedDay('a closed day has no event rows to count from: it cannot be repaired');
  }
  return { report: await auditDay(table, new DayShards(table, 1), day), guards };
};
