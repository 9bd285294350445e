import pLimit from 'p-limit';

import type { Day } from '../model/day.ts';
import { MAX_SHARDS } from '../model/shard.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { CounterTable } from '../rows/table.ts';
import { auditShard, type ShardReport } from './audit-shard.ts';
import { DAMAGED, damageOf, type Difference } from './findings.ts';
import { readShardVersion } from './shard-version.ts';

/** What an audit of a day found. */
export interface AuditReport {
  readonly day: Day;
  /** How many shards the day has; 0: it has no events. */
  readonly shards: number;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  /** Whether the day, or a part of it, is closed: its event rows are gone, and its counters were compared with each other. */
  readonly closed: boolean;
  readonly differences: readonly Difference[];
  /** The same for each shard that has rows or should have. */
  readonly byShard: readonly ShardReport[];
}

/** The day was written to during every try to read it: it cannot be audited now. */
export class AuditUnsettled extends Error {
  override readonly name = 'AuditUnsettled';
}

const TRIES = 5;
const PARALLEL_READS = 16;

const ALL_SHARDS: readonly number[] = Array.from({ length: MAX_SHARDS }, (_, shard) => shard);

const tryAudit = async (table: CounterTable, dayShards: DayShards, day: Day): Promise<AuditReport | undefined> => {
  const shards = await dayShards.find(day).catch(damageOf);
  const own = typeof shards === 'number' ? ALL_SHARDS.slice(0, shards) : [];
  const others = await pLimit(PARALLEL_READS).map(ALL_SHARDS.slice(own.length), async (shard) =>
    (await readShardVersion(table, shardPartition(day, shard))).stripes === 0 ? [] : [shard],
  );
  const byShard: ShardReport[] = [];
  for (const shard of [...own, ...others.flat()]) {
    const report = await auditShard(table, day, shard, typeof shards === 'number' ? shards : undefined);
    if (report === undefined) return undefined;
    byShard.push(report);
  }
  // The day's first event came while the day was read.
  if (shards === undefined && (await dayShards.find(day).catch(damageOf)) !== undefined) return undefined;

  const differences = byShard.flatMap((report) => report.differences);
  const stray = others.flat().length > 0;
  if (shards === DAMAGED || stray) {
    const used = byShard.map(({ shard }) => shard);
    differences.unshift({
      shard: undefined,
      counter: 'shards',
      expected: stray ? `more than ${Math.max(...used)}` : `1 to ${MAX_SHARDS}`,
      stored: String(shards ?? 'nothing'),
    });
  }
  return {
    day,
    shards: own.length,
    events: byShard.reduce((sum, report) => sum + report.events, 0),
    counters: byShard.reduce((sum, report) => sum + report.counters, 0),
    closed: byShard.some((report) => report.closed),
    differences,
    byShard,
  };
};

/**
 * Compares every counter of a day with its event rows; of a closed day with its samples. Reads only.
 *
 * @throws {AuditUnsettled} where the day was written to during every try
 * @throws {StorageTrouble} where storage does not answer: there is no report of a part of a day
 * @example const { differences } = await auditDay(table, dayShards, day); // [] where every counter is right
 */
export const auditDay = async (table: CounterTable, dayShards: DayShards, day: Day): Promise<AuditReport> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const report = await tryAudit(table, dayShards, day);
    if (report !== undefined) return report;
  }
  throw new AuditUnsettled('a day that is being written to cannot be audited: try again later');
};
