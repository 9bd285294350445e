import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

import type { Log, LogFields } from '../../log.ts';
import type { Backup, BackupContainer } from '../../storage/azure-container.ts';
import type { Table } from '../../storage/table.ts';
import { type Day, type Hour, HOURS } from '../model/day.ts';
import { ALL_HOURS, eventsOfHour, hourCounter, shardPartition, twoDigits } from '../rows/keys.ts';
import { readSeal } from '../rows/seal.ts';
import { exportShard } from './export-day.ts';
import { endedDays, failureFields, RUN_MS, type Steps, withinTime } from './run.ts';

/** When days are backed up (NCRONTAB). A shard of a day in which nothing has changed costs a query and a list of its backups. */
export const BACKUP_SCHEDULE = '0 40 */6 * * *';

/** A day is backed up when it ended this long ago: late events are rare, and are noticed. */
const BACKED_UP_AFTER_DAYS = 2;

export interface BackupDependencies {
  readonly table: Table;
  /** How many shards each day has. */
  readonly shards: number;
  readonly container: () => Promise<BackupContainer>;
  /** How long a run works at most, in milliseconds. */
  readonly runMs?: number;
}

/**
 * Backs up the days that ended two days ago or earlier, newest first: each of their hours that has changed since its last backup. A run may
 * stop anywhere: the next run continues. A day that fails is logged, and delays no other day.
 */
export const backUpDays = async (
  { table, shards, container, runMs = RUN_MS }: BackupDependencies,
  log: Log,
): Promise<void> => {
  const counted = { days: 0, days_failed: 0, days_left: 0 };
  async function* backUpEach(): Steps {
    const backingUp = { table, container: await container(), log };
    const days = await Array.fromAsync(endedDays(table, BACKED_UP_AFTER_DAYS));
    counted.days_left = days.length;
    for (const day of days.toReversed()) {
      const isBackedUp = yield* backUpDay(backingUp, day, Array.from({ length: shards }).keys());
      counted.days_failed += Number(!isBackedUp);
      counted.days += 1;
      counted.days_left -= 1;
    }
  }
  await withinTime(runMs, backUpEach());
  log.info('backups looked after', counted);
};

/** The source and the destination of a run. */
export interface BackingUp {
  readonly table: Table;
  readonly container: BackupContainer;
  readonly log: Log;
}

/** An hour of a shard of a day that has changed since its last backup. */
interface DueHour {
  readonly day: Day;
  readonly shard: number;
  readonly hour: Hour;
  /** The versions that change with every commit to the hour. */
  readonly state: string;
  /** The backups of the shard, by name. */
  readonly backups: ReadonlyMap<string, Backup>;
}

/**
 * The name of the backup of an hour of a shard: `2026-11-20.00/08.ndjson.gz`. A backup that has fewer events than the backup before it has
 * another name: both are kept.
 */
const backupName = ({ day, shard, hour }: Omit<DueHour, 'state' | 'backups'>, hasFewer = false): string =>
  `${shardPartition(day, shard)}/${twoDigits(hour)}${hasFewer ? '.fewer' : ''}.ndjson.gz`;

/**
 * Backs up the hours of a day that have changed since their last backup. Hours are independent: a failed hour is logged and delays no other
 * hour. A later run continues with the missing hours.
 *
 * @param isLast true: the day is closed, and its event rows are about to be deleted. Otherwise sealed shards are left out.
 * @returns whether all hours are backed up
 */
export async function* backUpDay(
  backingUp: BackingUp,
  day: Day,
  shards: Iterable<number>,
  isLast = false,
): Steps<boolean> {
  let isWhole = true;
  async function* trying<Result>(what: LogFields, steps: Steps<Result>): Steps<Result | undefined> {
    try {
      return yield* steps;
    } catch (error) {
      isWhole = false;
      backingUp.log.error('day not backed up', { ...what, ...failureFields(error) });
      return undefined;
    }
  }
  for (const shard of shards) {
    const due = yield* trying({ day, shard }, dueHours(backingUp, day, shard, isLast));
    for (const each of due ?? []) yield* trying({ day, shard, hour: each.hour }, backUpHour(backingUp, each));
  }
  return isWhole;
}

/**
 * The hours of a shard that have changed since their last backup: one query asks for the versions of all rows of hours. Before the last
 * backup, damage must not hide an hour: an hour without rows is read as well.
 */
async function* dueHours(
  { table, container }: BackingUp,
  day: Day,
  shard: number,
  isLast: boolean,
): Steps<readonly DueHour[]> {
  yield;
  const partition = shardPartition(day, shard);
  const rows = await table.all(partition, ALL_HOURS, { select: [] });
  const backups = await container.list(`${partition}/`);
  const due = HOURS.flatMap((hour) => {
    const versions = rows.flatMap(({ rowKey, etag }) => (rowKey.startsWith(hourCounter(hour)) ? [rowKey, etag] : []));
    const state = createHash('sha256').update(versions.join('\n')).digest('base64url');
    const each = { day, shard, hour, state, backups };
    const isBackedUp = [false, true].some((fewer) => backups.get(backupName(each, fewer))?.facts['state'] === state);
    return isBackedUp || (versions.length === 0 && !isLast) ? [] : [each];
  });
  // The event rows of a closed day are deleted page by page: the remaining rows are not a complete backup.
  return due.length === 0 || isLast || (await readSeal(table, partition)).sealed === undefined ? due : [];
}

/**
 * Writes the backup of an hour that has events. All of it is in memory: some 70 bytes of each event. Each page is compressed by itself: the parts
 * of a gzip file may follow one another.
 */
async function* backUpHour({ table, container, log }: BackingUp, due: DueHour): Steps {
  const { day, shard, hour, state, backups } = due;
  const parts: Buffer[] = [];
  const unreadable: string[] = [];
  let [events, removed] = [0, 0];
  for await (const page of exportShard(table, shardPartition(day, shard), eventsOfHour(hour))) {
    parts.push(gzipSync(page.lines));
    unreadable.push(...page.unreadable);
    events += page.events;
    removed += page.removed;
    yield;
  }
  const before = Number(backups.get(backupName(due))?.facts['events'] ?? 0);
  const hasFewer = events < before;
  if (hasFewer) log.error('backup has fewer events', { day, shard, hour, events, before });
  if (events + unreadable.length === 0) return;
  const name = backupName(due, hasFewer);
  const bytes = Buffer.concat(parts);
  const counted = { events: String(events), removed: String(removed), unreadable: String(unreadable.length) };
  await container.write(name, bytes, { state, ...counted }, backups.get(name)?.etag);
  log.info('hour backed up', { day, shard, hour, events, bytes: bytes.length });
  if (unreadable.length > 0) {
    log.error('events not backed up', { day, shard, hour, events: unreadable.length, first: unreadable[0] });
  }
}
