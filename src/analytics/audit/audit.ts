import pLimit from 'p-limit';

import { unlessDamaged } from '../../storage/errors.ts';
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
import { auditShard, settled, type ShardReport } from './shard-audit.ts';
import type { Difference } from './subtraction.ts';

/** What an audit of a day found. */
export interface AuditReport extends Pick<ShardReport, 'events' | 'counters'> {
  readonly day: Day;
  /** How many shards the day has; 0: it has no events. */
  readonly shards: number;
  /** How many shards the manifest must say, which fits the cameras of each shard; undefined: it does. */
  readonly fittingShards: number | undefined;
  /** Whether the day is closed: its event rows are gone, and its counters were compared with its samples. */
  readonly closed: boolean;
  /** Those of the shards, and of the manifest, which is in no shard. */
  readonly differences: readonly (Difference & { readonly shard: number | undefined })[];
  /** Each shard that has rows or should have. */
  readonly byShard: readonly ShardReport[];
  /** Cameras that have events in a shard, and belong to another one. */
  readonly strangers: readonly { readonly shard: number; readonly cameraId: string }[];
}

const PARALLEL_READS = 16;
const NO_MANIFEST = 'nothing';

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

/** What the manifest says of a day's shards, and whether the day takes changes: not if it is not in the index of open days, or closes. */
export const readDayState = async (table: Table, day: Day) => {
  const row = await table.get(dayPartition(day), SHARDS_KEY);
  const open = await table.get(OPEN_DAYS_PARTITION, day);
  const shards = row && unlessDamaged(() => manifestFrom(row).shards);
  const now = sortableInstant(instantFromMilliseconds(Date.now()));
  // Either row may be lost.
  const closings = [row, open].map((one) => one?.properties[CLOSES]);
  const hasLostClosing = open === undefined && row?.properties[CLOSES] === undefined;
  const known =
    shards === undefined ? 'damaged' : `${shards}${hasLostClosing ? ', and not that the day is closed' : ''}`;
  return {
    /** What the manifest says, in words. */
    text: row === undefined ? NO_MANIFEST : known,
    shards,
    closed: open === undefined || closings.some((at) => at !== undefined && !(typeof at === 'string' && at > now)),
  };
};

type DayState = Awaited<ReturnType<typeof readDayState>>;

const auditIn = async (table: Table, day: Day, { shards, closed, text }: DayState): Promise<AuditReport> => {
  const byShard: ShardReport[] = [];
  for (let shard = 0; shard < (shards ?? 0); shard += 1) byShard.push(await auditShard(table, day, shard, closed));
  const known = new Set(byShard.flatMap(({ cameras }) => [...cameras]));
  // Of a shard that the manifest does not know, readers see nothing: what matters is whether it has events, or the samples of a closed day.
  const others = Array.from({ length: MAX_SHARDS - byShard.length }, (_, index) => byShard.length + index);
  const stray = await pLimit(PARALLEL_READS).map(others, async (shard) => {
    const ranges = closed ? [ALL_EVENTS, ALL_MINUTES] : [ALL_EVENTS];
    if (!(await hasRows(table, shardPartition(day, shard), ranges))) return [];
    const report = await auditShard(table, day, shard, closed);
    // What is left where a repair moved the events to their own shard while the day was open.
    return closed && report.cameras.isSubsetOf(known) ? [] : [report];
  });
  byShard.push(...stray.flat());
  const fitting = fittingShards(shards, byShard);
  const isWrong = text !== `${fitting}` && (text !== NO_MANIFEST || byShard.length > 0);
  const step = `write that the day has ${fitting} shards`;
  const manifest = { shard: undefined, counter: 'shards', expected: `${fitting}`, stored: text, step };
  const strangers = byShard.flatMap(({ shard, cameras }) =>
    [...cameras].flatMap((cameraId) => {
      const own = shards === undefined ? shard : shardOf(cameraId, shards);
      return own === shard ? [] : [{ shard, cameraId, own }];
    }),
  );
  return {
    day,
    shards: shards ?? 0,
    fittingShards: isWrong ? fitting : undefined,
    events: byShard.reduce((sum, report) => sum + report.events, 0),
    counters: byShard.reduce((sum, report) => sum + report.counters, 0),
    closed: closed && byShard.length > 0,
    differences: [
      ...(isWrong ? [manifest] : []),
      ...byShard.flatMap(({ shard, differences }) => differences.map((one) => ({ shard, ...one }))),
      ...strangers.map(({ shard, cameraId, own }) => ({
        shard,
        counter: `shard of camera ${cameraId}`,
        expected: twoDigits(own),
        stored: twoDigits(shard),
        step: `record the events of camera ${cameraId} in its own shard, and set them aside in this one`,
      })),
    ],
    byShard,
    strangers,
  };
};

/** Whether a partition has rows in one of some ranges. */
const hasRows = async (table: Table, partition: string, ranges: readonly KeyRange[]): Promise<boolean> => {
  for (const range of ranges) {
    for await (const rows of table.pages(partition, range, { select: [], most: 1 })) if (rows.length > 0) return true;
  }
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
