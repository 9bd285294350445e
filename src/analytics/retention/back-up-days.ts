import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';

import type { Log } from '../../log.ts';
import type { Backup, BackupContainer } from '../../storage/azure-container.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { type Day, type Hour, HOURS } from '../model/day.ts';
import { ALL_HOURS, eventsOfHour, hourCounter, shardPartition, twoDigits } from '../rows/keys.ts';
import { readSeal } from '../rows/seal.ts';
import { eventLines, noEvents } from './export-day.ts';
import { endedDays, OutOfTime, RUN_MS, withinTime } from './run.ts';

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
  await withinTime(runMs, async (demandTime) => {
    const backingUp = { table, container: await container(), demandTime, log };
    const days = await Array.fromAsync(endedDays(table, BACKED_UP_AFTER_DAYS));
    counted.days_left = days.length;
    for (const day of days.toReversed()) {
      const isBackedUp = await backUpDay(backingUp, day, Array.from({ length: shards }).keys());
      counted.days_failed += Number(!isBackedUp);
      counted.days += 1;
      counted.days_left -= 1;
    }
  });
  log.info('backups looked after', counted);
};

/** The source and the destination of a run. */
export interface BackingUp {
  readonly table: Table;
  readonly container: BackupContainer;
  /** @throws {OutOfTime} */
  readonly demandTime: () => void;
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
 * @throws {OutOfTime}
 */
export const backUpDay = async (
  backingUp: BackingUp,
  day: Day,
  shards: Iterable<number>,
  isLast = false,
): Promise<boolean> => {
  const { demandTime, log } = backingUp;
  let isWhole = true;
  const trying = async <Value>(what: object, doing: () => Promise<Value>): Promise<Value | undefined> => {
    demandTime();
    try {
      return await doing();
    } catch (error) {
      if (error instanceof OutOfTime) throw error;
      isWhole = false;
      const reason = error instanceof StorageTrouble ? error.reason : undefined;
      log.error('day not backed up', { ...what, kind: error instanceof Error ? error.name : typeof error, reason });
      return undefined;
    }
  };
  for (const shard of shards) {
    const due = await trying({ day, shard }, async () => dueHours(backingUp, day, shard, isLast));
    for (const each of due ?? []) {
      await trying({ day, shard, hour: each.hour }, async () => backUpHour(backingUp, each));
    }
  }
  return isWhole;
};

/**
 * The hours of a shard that have changed since their last backup: one query asks for the versions of all rows of hours. Before the last
 * backup, damage must not hide an hour: an hour without rows is read as well.
 */
const dueHours = async (
  { table, container }: BackingUp,
  day: Day,
  shard: number,
  isLast: boolean,
): Promise<readonly DueHour[]> => {
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
};

/** Writes the backup of an hour that has events. */
const backUpHour = async (backingUp: BackingUp, due: DueHour): Promise<void> => {
  const { log } = backingUp;
  const { day, shard, hour, backups } = due;
  const before = Number(backups.get(backupName(due))?.facts['events'] ?? 0);
  let { read, bytes } = await writeBackup(backingUp, due, { least: before, hasFewer: false });
  if (read.events < before) {
    log.error('backup has fewer events', { day, shard, hour, events: read.events, before });
    ({ read, bytes } = await writeBackup(backingUp, due, { least: 0, hasFewer: true }));
  }
  const { events, unreadable } = read;
  if (bytes !== undefined) log.info('hour backed up', { day, shard, hour, events, bytes });
  if (unreadable.length > 0) {
    log.error('events not backed up', { day, shard, hour, events: unreadable.length, first: unreadable[0] });
  }
};

/** @returns the events that were read, and the size of the backup; undefined: fewer than `least` events, or none, so nothing is written */
const writeBackup = async (
  { table, container, demandTime }: BackingUp,
  due: DueHour,
  { least, hasFewer }: { readonly least: number; readonly hasFewer: boolean },
) => {
  const { day, shard, hour, state, backups } = due;
  const name = backupName(due, hasFewer);
  const read = noEvents();
  const reading = { range: eventsOfHour(hour), read, onPage: demandTime };
  const lines = Readable.from(eventLines(table, shardPartition(day, shard), reading));
  const compressed = lines.pipe(createGzip());
  lines.on('error', (error) => compressed.destroy(error));
  const facts = () => {
    const { events, removed, unreadable } = read;
    if (events < least || events + unreadable.length === 0) return undefined;
    return { state, events: String(events), removed: String(removed), unreadable: String(unreadable.length) };
  };
  const bytes = await container.write(name, compressed, facts, backups.get(name)?.etag).finally(() => lines.destroy());
  return { read, bytes };
};
