import pLimit from 'p-limit';

import type { KeyRange } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { instantFromMilliseconds } from '../model/instant.ts';
import { MAX_SHARDS, shardOf } from '../model/shard.ts';
import { CLOSES, manifestFrom } from '../rows/day-shards.ts';
import {
  ALL_EVENTS,
  ALL_MINUTES,
  dayPartition,
  OPEN_DAYS_PARTITION,
  SHARDS_KEY,
  shardPartition,
} from '../rows/keys.ts';
import { decodedOr, type Difference } from './findings.ts';
import { auditShard, ShardUnsettled, type ShardReport } from './shard-audit.ts';

/** What an audit of a day found. */
export interface AuditReport {
  readonly day: Day;
  /** How many shards the day has; 0: it has no events. */
  readonly shards: number;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  /** Whether the day is closed: its event rows are gone, and its counters were compared with its samples. */
  readonly closed: boolean;
  readonly differences: readonly Difference[];
  /** The same for each shard that has rows or should have. */
  readonly byShard: readonly ShardReport[];
}

/** A day that receives writes all the time cannot be audited now. */
export class AuditUnsettled extends Error {
  override readonly name = 'AuditUnsettled';
}

const TRIES = 2;
const PARALLEL_READS = 16;
const ALL_SHARDS: readonly number[] = Array.from({ length: MAX_SHARDS }, (_, shard) => shard);

/**
 * Audits every counter of a day: what the event rows say, less what is stored. Of a closed day the samples stand for the event rows.
 * Reads only. The day may receive writes meanwhile.
 *
 * @throws {AuditUnsettled} if the same rows changed during every try to read them together
 * @throws {StorageTrouble} if storage does not answer: there is no report of a part of a day
 * @throws {TableMissing | LaterFormat}
 * @example const { differences } = await auditDay(table, day); // [] if every counter is right
 */
export const auditDay = async (table: Table, day: Day): Promise<AuditReport> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const report = await tryAudit(table, day);
    if (report !== undefined) return report;
  }
  throw new AuditUnsettled('a day that receives writes all the time cannot be audited: try again later');
};

/** What is known of a day from its manifest. */
interface DayState {
  /** What the manifest has for the number of shards, in words. */
  readonly text: string;
  /** undefined: it cannot be decoded, or there is none. */
  readonly shards: number | undefined;
  readonly closed: boolean;
}

/** Whether the day takes changes. If the manifest does not tell, a day that has left the index of open days is closed. */
export const readDayState = async (table: Table, day: Day): Promise<DayState> => {
  const row = await table.get(dayPartition(day), SHARDS_KEY);
  const manifest =
    row &&
    decodedOr(
      () => manifestFrom(row),
      () => undefined,
    );
  if (manifest !== undefined) {
    const { shards, closes } = manifest;
    const closed = closes !== undefined && instantFromMilliseconds(Date.now()) >= closes;
    return { text: `${shards}`, shards, closed };
  }
  const isOpen = (await table.get(OPEN_DAYS_PARTITION, day)) !== undefined;
  const text = row === undefined ? 'nothing' : 'damaged';
  return { text, shards: undefined, closed: !isOpen || row?.properties[CLOSES] !== undefined };
};

/** undefined: it was written to during every try. */
const tryAudit = async (table: Table, day: Day): Promise<AuditReport | undefined> => {
  const { shards, closed, text } = await readDayState(table, day);
  const own = ALL_SHARDS.slice(0, shards ?? 0);
  // Of a shard that the manifest does not know, readers see nothing: what matters is whether it has events, or the samples of a closed day.
  const others = await pLimit(PARALLEL_READS).map(ALL_SHARDS.slice(own.length), async (shard) =>
    (await hasRows(table, shardPartition(day, shard), closed ? [ALL_EVENTS, ALL_MINUTES] : [ALL_EVENTS]))
      ? [shard]
      : [],
  );
  const byShard: ShardReport[] = [];
  const stray: number[] = [];
  try {
    for (const shard of own) byShard.push(await auditShard(table, day, shard, shards, closed));
    const known = new Set(byShard.flatMap(({ cameras }) => [...cameras]));
    for (const shard of others.flat()) {
      const report = await auditShard(table, day, shard, shards, closed);
      // What is left where a repair moved the events to their own shard while the day was open.
      if (closed && report.cameras.isSubsetOf(known)) continue;
      stray.push(shard);
      byShard.push(report);
    }
  } catch (error) {
    if (error instanceof ShardUnsettled) return undefined;
    throw error;
  }
  // The day's first event came while the day was read, or the day was closed: its event rows may be gone.
  const after = await readDayState(table, day);
  if (after.closed !== closed || after.text !== text) return undefined;

  const differences = byShard.flatMap((report) => report.differences);
  const fitting = byShard.length === 0 ? (shards ?? 1) : fittingShards(shards, byShard);
  const isMissing = shards === undefined && (text === 'damaged' || stray.length > 0);
  if (isMissing || (shards !== undefined && shards !== fitting)) {
    const used = Math.max(0, ...byShard.map(({ shard }) => shard));
    const expected =
      stray.length > 0 ? `more than ${used}` : shards === undefined ? `1 to ${MAX_SHARDS}` : `${fitting}`;
    const remedy = { kind: 'shards', shards: fitting } as const;
    differences.unshift({ shard: undefined, counter: 'shards', expected, stored: text, remedy });
  }
  return {
    day,
    shards: own.length,
    events: byShard.reduce((sum, report) => sum + report.events, 0),
    counters: byShard.reduce((sum, report) => sum + report.counters, 0),
    closed,
    differences,
    byShard,
  };
};

/** Whether a partition has rows in one of some ranges. */
const hasRows = async (table: Table, partition: string, ranges: readonly KeyRange[]): Promise<boolean> => {
  for (const range of ranges) {
    for await (const rows of table.pages(partition, range, { select: [], most: 1 })) if (rows.length > 0) return true;
  }
  return false;
};

/**
 * The number of shards that fits the cameras of each shard best: the stored one if it fits as well as any, else the smallest.
 */
const fittingShards = (stored: number | undefined, byShard: readonly ShardReport[]): number => {
  const least = Math.max(...byShard.map(({ shard }) => shard)) + 1;
  const fits = (count: number): number =>
    byShard.reduce(
      (sum, { shard, cameras }) => sum + [...cameras].filter((id) => shardOf(id, count) === shard).length,
      0,
    );
  const inTheirShards = byShard.reduce((sum, { cameras }) => sum + cameras.size, 0);
  // Some cameras may be where they do not belong. If all fit, a number is right.
  const counts = Array.from({ length: MAX_SHARDS }, (_, index) => index + 1);
  const whole = counts.filter((count) => count >= least && fits(count) === inTheirShards);
  const candidates = whole.length > 0 ? whole : counts;
  const best = Math.max(...candidates.map(fits));
  const fitting = candidates.filter((count) => fits(count) === best);
  return stored !== undefined && fitting.includes(stored) ? stored : (fitting[0] ?? 1);
};
