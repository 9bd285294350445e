import { unlessDamaged } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import type { Instant } from '../model/instant.ts';
import { MAX_SHARDS, shardOf } from '../model/shard.ts';
import { manifestFrom, shardInStorage } from '../rows/day-shards.ts';
import { dayPartition, OPEN_DAYS_PARTITION, SHARDS_KEY, twoDigits } from '../rows/keys.ts';
import { CLOSES, openDayFrom, readMoment, storageNow } from '../rows/open-days.ts';
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
  /** When the day closes or closed, if that is announced. */
  readonly closes: Instant | undefined;
  /** Whether the day is open, and not in the index of open days. */
  readonly isUnlisted: boolean;
  /** Whether a repair of the day began and has not finished. */
  readonly isRepairing: boolean;
  /** Those of the shards, and of the manifest, which is in no shard. */
  readonly differences: readonly (Difference & { readonly shard: number | undefined })[];
  /** Each shard that has rows or should have. */
  readonly byShard: readonly ShardReport[];
  /** Cameras that have events in a shard, and belong to another one. */
  readonly strangers: readonly { readonly shard: number; readonly cameraId: string }[];
}

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
    let report = await auditIn(table, day, before, before.closed ?? false);
    if (before.closed === undefined && !accountsForSamples(report)) {
      const text = before.text === NO_MANIFEST ? NO_MANIFEST : `${before.text}, and not that the day is closed`;
      report = await auditIn(table, day, { ...before, text }, true);
    }
    // The day's first event came while the day was read, or the day was closed: its event rows may be gone.
    const after = await readDayState(table, day);
    return after.closed === before.closed && after.text === before.text ? report : undefined;
  });

/** What the manifest of a day and its row in the index of open days say. */
interface DayState extends Pick<AuditReport, 'closes' | 'isUnlisted' | 'isRepairing'> {
  /** What the manifest says, in words. */
  readonly text: string;
  readonly shards: number | undefined;
  /** undefined: neither row tells. */
  readonly closed: boolean | undefined;
}

const readDayState = async (table: Table, day: Day): Promise<DayState> => {
  const row = await table.get(dayPartition(day), SHARDS_KEY);
  const index = await table.get(OPEN_DAYS_PARTITION, day);
  const shards = row && unlessDamaged(() => manifestFrom(row).shards);
  const open = index && unlessDamaged(() => openDayFrom(index));
  // The index says it as well, in case the manifest is lost. A closing that only the index announces has not begun.
  const own = row && unlessDamaged(() => readMoment(CLOSES, row.properties));
  const closes = own ?? open?.closes;
  const isPast = closes !== undefined && closes <= storageNow(table) && (own !== undefined || shards === undefined);
  const isTold = index !== undefined || own !== undefined;
  return {
    text: row === undefined ? NO_MANIFEST : `${shards ?? 'damaged'}`,
    shards,
    closed: isTold ? isPast : undefined,
    closes,
    isUnlisted: index === undefined,
    isRepairing: open?.isRepairing === true,
  };
};

/** A difference that is in no shard. */
const ofDay = (counter: string, expected: string, stored: string, step: string) =>
  ({ shard: undefined, counter, expected, stored, step }) as const;

/** Whether no sample counts more events than there are event rows: so none of those was deleted because the day closed. */
const accountsForSamples = ({ byShard }: AuditReport): boolean =>
  byShard.every(({ differences }) =>
    differences.every(({ left }) => left?.counter.microsecond === undefined || left.tally.events >= 0),
  );

const auditIn = async (table: Table, day: Day, state: DayState, closed: boolean): Promise<AuditReport> => {
  const { shards, text, closes, isRepairing } = state;
  const byShard: ShardReport[] = [];
  for (let shard = 0; shard < (shards ?? 0); shard += 1) byShard.push(await auditShard(table, day, shard, closed));
  const known = new Set(byShard.flatMap(({ cameras }) => [...cameras]));
  // Of a shard that the manifest does not know, readers see nothing: what matters is whether it has events, or the samples of a closed day.
  for (let from = shards ?? 0; ; from += 1) {
    const stray = await shardInStorage(table, day, from);
    if (stray === undefined) break;
    from = stray;
    const report = await auditShard(table, day, stray, closed);
    // Else it is what is left where a repair moved the events to their own shard while the day was open.
    const isOwn = closed ? !report.cameras.isSubsetOf(known) : report.events > 0;
    if (isOwn || shards === undefined) byShard.push(report);
  }
  const fitting = fittingShards(shards, byShard);
  const isWrong = text !== `${fitting}` && (text !== NO_MANIFEST || byShard.length > 0);
  const isUnlisted = state.isUnlisted && !closed && byShard.length > 0;
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
    closes,
    isUnlisted,
    isRepairing,
    differences: [
      ...(isWrong ? [ofDay('shards', `${fitting}`, text, `write that the day has ${fitting} shards`)] : []),
      ...(isUnlisted ? [ofDay('index of open days', 'the day', 'nothing', 'write that the day is open')] : []),
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
