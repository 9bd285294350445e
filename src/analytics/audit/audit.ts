import pLimit from 'p-limit';

import type { Day } from '../model/day.ts';
import { MAX_SHARDS, shardOf } from '../model/shard.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { ALL_EVENTS, shardPartition } from '../rows/keys.ts';
import type { Table } from '../../storage/table.ts';
import { auditShard, type ShardReport } from './audit-shard.ts';
import { DAMAGED, damageOf, type Difference } from './findings.ts';
import type { Remedy } from './remedy.ts';

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

const TRIES = 2;
const PARALLEL_READS = 16;

/** The numbers that shards may have. */
export const ALL_SHARDS: readonly number[] = Array.from({ length: MAX_SHARDS }, (_, shard) => shard);

/** How many shards the manifest says; undefined: there is none. */
const readShards = async (dayShards: DayShards, day: Day): Promise<number | typeof DAMAGED | undefined> =>
  dayShards.find(day).catch(damageOf);

/**
 * The number of shards that fits the cameras of each shard best: the stored one where it fits as well as any, else the smallest.
 */
const fittingShards = (stored: number | undefined, byShard: readonly ShardReport[]): number => {
  const least = Math.max(...byShard.map(({ shard }) => shard)) + 1;
  const fits = (count: number): number =>
    byShard.reduce(
      (sum, { shard, cameras }) => sum + [...cameras].filter((id) => shardOf(id, count) === shard).length,
      0,
    );
  const inTheirShards = byShard.reduce((sum, { cameras }) => sum + cameras.size, 0);
  // Some cameras may be where they do not belong. Where all fit, a number is right.
  const counts = Array.from({ length: MAX_SHARDS }, (_, index) => index + 1);
  const whole = counts.filter((count) => count >= least && fits(count) === inTheirShards);
  const candidates = whole.length > 0 ? whole : counts;
  const best = Math.max(...candidates.map(fits));
  const fitting = candidates.filter((count) => fits(count) === best);
  return stored !== undefined && fitting.includes(stored) ? stored : (fitting[0] ?? 1);
};

const tryAudit = async (table: Table, dayShards: DayShards, day: Day): Promise<AuditReport | undefined> => {
  const found = await readShards(dayShards, day);
  const shards = typeof found === 'number' ? found : undefined;
  const own = ALL_SHARDS.slice(0, shards ?? 0);
  // Of a shard that the manifest does not know, readers see nothing: what matters is whether it has events.
  const others = await pLimit(PARALLEL_READS).map(ALL_SHARDS.slice(own.length), async (shard) =>
    (await hasEvents(table, shardPartition(day, shard))) ? [shard] : [],
  );
  const stray = others.flat();
  const byShard: ShardReport[] = [];
  for (const shard of [...own, ...stray]) {
    const report = await auditShard(table, day, shard, shards);
    if (report === undefined) return undefined;
    byShard.push(report);
  }
  // The day's first event came while the day was read.
  if (found === undefined && (await readShards(dayShards, day)) !== undefined) return undefined;

  const differences = byShard.flatMap((report) => report.differences);
  const fitting = byShard.length === 0 ? (shards ?? 1) : fittingShards(shards, byShard);
  if (found === DAMAGED || stray.length > 0 || (shards !== undefined && shards !== fitting)) {
    const used = Math.max(0, ...byShard.map(({ shard }) => shard));
    const remedy: Remedy = shards === fitting ? { kind: 'none' } : { kind: 'shards', shards: fitting };
    const expected = stray.length > 0 ? `more than ${used}` : found === DAMAGED ? `1 to ${MAX_SHARDS}` : `${fitting}`;
    differences.unshift({ shard: undefined, counter: 'shards', expected, stored: String(found ?? 'nothing'), remedy });
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

/** Whether a partition has event rows. */
const hasEvents = async (table: Table, partition: string): Promise<boolean> => {
  for await (const rows of table.pages(partition, ALL_EVENTS, { select: [] })) if (rows.length > 0) return true;
  return false;
};

/**
 * Compares every counter of a day with its event rows; of a closed day with its samples. Reads only. The day may be written to
 * meanwhile.
 *
 * @throws {AuditUnsettled} where the same rows were written to during every try to read them together
 * @throws {StorageTrouble} where storage does not answer: there is no report of a part of a day
 * @example const { differences } = await auditDay(table, dayShards, day); // [] where every counter is right
 */
export const auditDay = async (table: Table, dayShards: DayShards, day: Day): Promise<AuditReport> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const report = await tryAudit(table, dayShards, day);
    if (report !== undefined) return report;
  }
  throw new AuditUnsettled('a day that is being written to all the time cannot be audited: try again later');
};
