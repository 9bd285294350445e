import pLimit from 'p-limit';

import { ALL_SHARDS, auditDay, type AuditReport } from '../audit/audit.ts';
import type { Day } from '../model/day.ts';
import { DayShards } from '../rows/day-shards.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { dayPartition, REPAIR_KEY, SHARDS_KEY, shardPartition, TOTAL_KEY } from '../rows/keys.ts';
import { stripesOf } from '../rows/stripe-keys.ts';

/** The day is closed: its event rows are deleted, and counters that are counted from them would become zero. */
export class NotRepairable extends Error {
  override readonly name = 'NotRepairable';
}

/** An audit, and what tells whether another repair added differences since. */
export interface Examination {
  readonly report: AuditReport;
  /** The version of each shard's `repair` row before the audit; undefined: there was none. */
  readonly guards: ReadonlyMap<number, string | undefined>;
}

const PARALLEL_READS = 16;

/** The `repair` row of a shard, its fence, and its totals: one query for a shard that is likely not to exist. */
const REPAIR_TO_TOTAL: KeyRange = { from: REPAIR_KEY, before: stripesOf(TOTAL_KEY).before };

const isClosed = ({ properties }: StoredRow): boolean => properties['closed'] === true;

/**
 * Audits a day that is to be repaired.
 *
 * @throws {NotRepairable}
 * @throws {AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const examineDay = async (table: Table, day: Day): Promise<Examination> => {
  const guards = new Map<number, string | undefined>();
  const closed = await pLimit(PARALLEL_READS).map(ALL_SHARDS, async (shard) => {
    const rows = await table.all(shardPartition(day, shard), REPAIR_TO_TOTAL, { select: ['closed'] });
    guards.set(shard, rows.find(({ rowKey }) => rowKey === REPAIR_KEY)?.etag);
    return rows.some(isClosed);
  });
  const manifest = await table.get(dayPartition(day), SHARDS_KEY, { select: ['closed'] });
  if (closed.includes(true) || (manifest !== undefined && isClosed(manifest))) {
    throw new NotRepairable('a closed day has no event rows to count from: it cannot be repaired');
  }
  return { report: await auditDay(table, new DayShards(table, 1), day), guards };
};
