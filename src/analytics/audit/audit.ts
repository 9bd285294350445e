import pLimit from 'p-limit';

import type { KeyRange } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { instantFromMilliseconds, sortableInstant } from '../model/instant.ts';
import { MAX_SHARDS, shardOf } from '../model/shard.ts';
import { CLOSES, manifestFrom } from '../rows/day-shards.ts';
import {
  ALL_EVENTS,
  ALL_MINUTES,
  dayPartition,
  OPEN_DAYS_PARTITION,
  SHARDS_KEY,
  shardPartition,
  twoDigits,
} from '../rows/keys.ts';
import type { Difference } from './counters.ts';
import { auditShard, settled, type ShardReport } from './shard-audit.ts';
import { unlessDamaged } from './stored-rows.ts';

/** What an audit of a day found. */
export interface AuditReport {
  readonly day: Day;
  /** How many shards the day has; 0: it has no events. */
  readonly shards: number;
  /** How many shards the manifest must say, which fits the cameras of each shard; undefined: it does. */
  readonly fittingShards: number | undefined;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  /** Whether the day is closed: its event rows are gone, and its counters were compared with its samples. */
  readonly closed: boolean;
  /** Those of the shards, and of the manifest, which is in no shard. */
  readonly differences: readonly (Difference & { readonly shard: number | undefined })[];
  /** Each shard that has rows or should have. */
  readonly byShard: readonly ShardReport[];
  /** By shard: cameras that have events there, and belong to another one. */
  readonly strangers: ReadonlyMap<number, ReadonlySet<string>>;
}

const PARALLEL_READS = 16;

/**
 * Audits every counter of a day: what the event rows say, less what is stored. Of a closed day the samples stand for the event rows.
 * Reads only. The day may receive writes meanwhile.
 *
 * @throws {AuditUnsettled} if the same rows changed during every try to read them together
 * @throws {StorageTrouble} if storage does not answer: there is no report of a part of a day
 * @throws {TableMissing | LaterFormat}
 * @example const { differences } = await auditDay(table, day); // [] if every counter is right
 */
export const auditDay = async (table: Table, day: Day): Promise<AuditReport> =>
  settled('the manifest of the day', async () => {
    const before = await readDayState(table, day);
    const report = await auditIn(table, day, before);
    // The day's first event came while the day was read, or the day was closed: its event rows may be gone.
    const after = await readDayState(table, day);
    return after.closed === before.closed && after.text === before.text ? report : undefined;
  });

/** What is known of a day besides its shards. */
interface DayState {
  /** What the manifest has for the number of shards, in words. */
  readonly text: string;
  /** undefined: it cannot be decoded, or there is none. */
  readonly shards: number | undefined;
  readonly closed: boolean;
}

/** Whether a day takes changes. One that is not in the index of open days does not, nor one that closes, whichever row says so. */
export const readDayState = async (table: Table, day: Day): Promise<DayState> => {
  const row = await table.get(dayPartition(day), SHARDS_KEY);
  const open = await table.get(OPEN_DAYS_PARTITION, day);
  const shards = row && unlessDamaged(() => manifestFrom(row).shards);
  const now = sortableInstant(instantFromMilliseconds(Date.now()));
  // Either row may have lost it.
  const closings = [row, open].map((one) => one?.properties[CLOSES]);
  return {
    text: row === undefined ? 'nothing' : shards === undefined ? 'damaged' : `${shards}`,
    shards,
    closed: open === undefined || closings.some((at) => at !== undefined && !(typeof at === 'string' && at > now)),
  };
};

const auditIn = async (table: Table, day: Day, { shards, closed, text }: DayState): Promise<AuditReport> => {
  const own = Array.from({ length: shards ?? 0 }, (_, shard) => shard);
  const byShard: ShardReport[] = [];
  for (const shard of own) byShard.push(await auditShard(table, day, shard, closed));
  const known = new Set(byShard.flatMap(({ cameras }) => [...cameras]));
  // Of a shard that the manifest does not know, readers see nothing: what matters is whether it has events, or the samples of a closed day.
  const others = Array.from({ length: MAX_SHARDS - own.length }, (_, index) => own.length + index);
  const stray = await pLimit(PARALLEL_READS).map(others, async (shard) => {
    const partition = shardPartition(day, shard);
    if (!(await hasRows(table, partition, ALL_EVENTS)) && !(closed && (await hasRows(table, partition, ALL_MINUTES)))) {
      return [];
    }
    const report = await auditShard(table, day, shard, closed);
    // What is left where a repair moved the events to their own shard while the day was open.
    return closed && report.cameras.isSubsetOf(known) ? [] : [report];
  });
  byShard.push(...stray.flat());

  const fitting = fittingShards(shards, byShard);
  const isLost = shards === undefined && (text === 'damaged' || byShard.length > 0);
  const differs = isLost || (shards !== undefined && shards !== fitting);
  const used = Math.max(0, ...byShard.map(({ shard }) => shard));
  const unknown = shards === undefined ? `1 to ${MAX_SHARDS}` : `${fitting}`;
  const manifest = {
    shard: undefined,
    counter: 'shards',
    expected: byShard.length > own.length ? `more than ${used}` : unknown,
    stored: text,
    step: `write that the day has ${fitting} shards`,
  };
  const strangers = byShard.flatMap(({ shard, cameras }) =>
    [...cameras].flatMap((cameraId) => {
      const right = shards === undefined ? shard : shardOf(cameraId, shards);
      return right === shard ? [] : [{ shard, cameraId, right }];
    }),
  );
  return {
    day,
    shards: own.length,
    fittingShards: differs ? fitting : undefined,
    events: byShard.reduce((sum, report) => sum + report.events, 0),
    counters: byShard.reduce((sum, report) => sum + report.counters, 0),
    closed: closed && byShard.length > 0,
    differences: [
      ...(differs ? [manifest] : []),
      ...byShard.flatMap(({ shard, differences }) => differences.map((one) => ({ shard, ...one }))),
      ...strangers.map(({ shard, cameraId, right }) => ({
        shard,
        counter: `shard of camera ${cameraId}`,
        expected: twoDigits(right),
        stored: twoDigits(shard),
        step: `record the events of camera ${cameraId} in its own shard, and set them aside in this one`,
      })),
    ],
    byShard,
    strangers: new Map(
      Array.from(
        Map.groupBy(strangers, ({ shard }) => shard),
        ([shard, all]) => [shard, new Set(all.map(({ cameraId }) => cameraId))],
      ),
    ),
  };
};

const hasRows = async (table: Table, partition: string, range: KeyRange): Promise<boolean> => {
  for await (const rows of table.pages(partition, range, { select: [], most: 1 })) if (rows.length > 0) return true;
  return false;
};

/** The number of shards that fits the cameras of each shard best: the stored one if it fits as well as any, else the smallest. */
const fittingShards = (stored: number | undefined, byShard: readonly ShardReport[]): number => {
  const strangersWith = (count: number): number =>
    byShard.reduce(
      (sum, { shard, cameras }) => sum + [...cameras].filter((id) => shardOf(id, count) !== shard).length,
      0,
    );
  if (stored !== undefined && strangersWith(stored) === 0) return stored;
  const strangers = Array.from({ length: MAX_SHARDS }, (_, index) => strangersWith(index + 1));
  const fewest = Math.min(...strangers);
  return stored !== undefined && strangers[stored - 1] === fewest ? stored : strangers.indexOf(fewest) + 1;
};
