import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';

import type { Log } from '../../log.ts';
import type { BackupContainer } from '../../storage/backup-container.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { type Day, dayOf } from '../model/day.ts';
import { instantFromMilliseconds, sortableInstant } from '../model/instant.ts';
import { openDays, type StoredDay } from '../rows/day-row.ts';
import type { Days } from '../rows/days.ts';
import { ALL_EVENTS, DAY_KEY, shardPartition } from '../rows/keys.ts';
import { stripesOf } from '../rows/stripes.ts';
import { eventLines, type EventsRead } from './day-events.ts';

/** When days are backed up (NCRONTAB): a run in which nothing has changed costs one query a day of the table. */
export const BACKUP_SCHEDULE = '0 40 */6 * * *';

/** A day is backed up when it ended so long ago: hardly anything comes later, and what does is noticed. */
const BACKED_UP_AFTER_MS = 2 * 86_400_000;

/** How long a run works at most: less than the 30 minutes that the host gives it. The next run goes on. */
const RUN_MS = 20 * 60_000;

/** What backing up needs. */
export interface BackupDependencies {
  readonly table: Table;
  readonly days: Days;
  readonly container: () => Promise<BackupContainer>;
  /** How long a run works at most, in milliseconds. */
  readonly runMs?: number;
}

/** The name of the backup of a shard of a day. It says no generation: a rewritten day is the same day. @example backupName('2026-11-20', 0) // '2026-11-20_00.ndjson.gz' */
export const backupName = (day: Day, shard: number): string => `${shardPartition(day, shard)}.ndjson.gz`;

/** The name of a backup that has fewer events than {@link backupName}: it is kept beside it and replaces nothing. */
const fewerName = (day: Day, shard: number): string => `${shardPartition(day, shard)}.fewer.ndjson.gz`;

/**
 * Backs up every open day that ended two days ago or earlier, oldest first, if it has changed since its last backup. A run may stop
 * anywhere: the next one continues with the shards that are missing. A day that fails is logged and holds up no other one.
 */
export const backUpDays = async (
  { table, days, container, runMs = RUN_MS }: BackupDependencies,
  log: Log,
): Promise<void> => {
  const stop = AbortSignal.timeout(runMs);
  const blobs = await container();
  const open = await openDays(table);
  const first = dayOf(instantFromMilliseconds(Date.now() - BACKED_UP_AFTER_MS));
  const known = await blobs.list();
  const counted = { days: 0, days_backed_up: 0, days_failed: 0 };
  for (const day of open.filter((one) => one < first)) {
    if (stop.aborted) break;
    counted.days += 1;
    try {
      const row = await days.stored(day);
      // A day that closes is backed up when it takes no more changes: see backUpClosing.
      if (row === undefined || row.closes !== undefined) continue;
      if (await backUpDay({ table, blobs, known, log, stop }, day, row)) counted.days_backed_up += 1;
    } catch (error) {
      counted.days_failed += 1;
      logFailure(error, day, log);
    }
  }
  log.info('backups looked after', counted);
};

/**
 * Backs up a day that takes no more changes, right before its event rows are deleted. Never again after that: the rows that are left are no
 * backup.
 *
 * @throws what keeps it from being whole, which is logged: the event rows must stay
 */
export const backUpClosing = async (
  { table, days, container, runMs = RUN_MS }: BackupDependencies,
  day: Day,
  log: Log,
): Promise<void> => {
  try {
    const row = await days.stored(day);
    if (row === undefined) return;
    const blobs = await container();
    const known = await blobs.list(day);
    await backUpDay({ table, blobs, known, log, stop: AbortSignal.timeout(runMs) }, day, row);
  } catch (error) {
    logFailure(error, day, log);
    throw error;
  }
};

const logFailure = (error: unknown, day: Day, log: Log): void => {
  const reason = error instanceof StorageTrouble ? error.reason : undefined;
  log.error('day not backed up', { day, kind: error instanceof Error ? error.name : typeof error, reason });
};

interface BackingUp {
  readonly table: Table;
  readonly blobs: BackupContainer;
  readonly known: Awaited<ReturnType<BackupContainer['list']>>;
  readonly log: Log;
  readonly stop: AbortSignal;
}

/** A shard whose backup is out of date. */
interface ChangedShard {
  readonly shard: number;
  readonly partition: string;
  readonly state: string;
}

/** @returns whether anything had to be written */
const backUpDay = async (backingUp: BackingUp, day: Day, row: StoredDay): Promise<boolean> => {
  const { table, blobs, known, log } = backingUp;
  const { shards, generation, closes } = row;
  const closed = closes === undefined ? '' : sortableInstant(closes);
  const partitions = Array.from({ length: shards }, (_, shard) => shardPartition(day, shard, generation));
  const changed: ChangedShard[] = [];
  for (const [shard, partition] of partitions.entries()) {
    const written = [known.get(backupName(day, shard)), known.get(fewerName(day, shard))];
    // Once the backup of a closed day is whole, its event rows may be deleted.
    if (closed !== '' && written.some((one) => one?.facts['closed'] === closed)) continue;
    const state = await stateOf(table, partition);
    if (closed !== '' || !written.some((one) => one?.facts['state'] === state))
      changed.push({ shard, partition, state });
  }
  const gone = [...known.keys()].filter((name) => shardOfName(day, name) >= shards);
  if (changed.length === 0 && gone.length === 0) return false;
  const before = [...known].reduce(
    (sum, [name, { facts }]) => sum + (shardOfName(day, name) >= 0 ? Number(facts['events'] ?? 0) : 0),
    0,
  );
  let events = 0;
  for (const partition of partitions) events += await countEvents(table, partition);
  const hasFewer = events < before;
  if (hasFewer) log.error('backup has fewer events', { day, events, before });
  for (const one of changed) await backUpShard(backingUp, day, one, closed, hasFewer ? fewerName : backupName);
  // The day was rewritten with fewer shards, and all its events are in other backups now.
  for (const name of hasFewer ? [] : gone) await blobs.delete(name);
  return true;
};

const backUpShard = async (
  { table, blobs, known, log, stop }: BackingUp,
  day: Day,
  { shard, partition, state }: ChangedShard,
  closed: string,
  nameOf: typeof backupName,
): Promise<void> => {
  const name = nameOf(day, shard);
  const read: EventsRead = { events: 0, unreadable: [] };
  const lines = Readable.from(eventLines(table, partition, read));
  const compressed = lines.pipe(createGzip());
  lines.on('error', (error) => compressed.destroy(error));
  const facts = () => ({ state, closed, events: String(read.events), unreadable: String(read.unreadable.length) });
  const etag = known.get(name)?.etag;
  const bytes = await blobs.write(name, compressed, facts, etag, stop).finally(() => lines.destroy());
  log.info('shard backed up', { day, shard, events: read.events, bytes });
  if (read.unreadable.length > 0) {
    log.error('events not backed up', { day, shard, events: read.unreadable.length, first: read.unreadable[0] });
  }
};

/** The shard of the day that a backup is of; -1: it is one of another day, or one that has fewer events. */
const shardOfName = (day: Day, name: string): number =>
  name.startsWith(`${day}_`) && /^\d\d\.ndjson\.gz$/.test(name.slice(day.length + 1))
    ? Number(name.slice(day.length + 1, day.length + 3))
    : -1;

const countEvents = async (table: Table, partition: string): Promise<number> => {
  let events = 0;
  for await (const page of table.pages(partition, ALL_EVENTS, { select: [] })) events += page.length;
  return events;
};

/** What changes with every commit to a shard: the versions of its stripes. */
const stateOf = async (table: Table, partition: string): Promise<string> => {
  const stripes = await table.all(partition, stripesOf(DAY_KEY), { select: [] });
  const hash = createHash('sha256');
  for (const { partitionKey, rowKey, etag } of stripes) hash.update(`${partitionKey} ${rowKey} ${etag}\n`);
  return hash.digest('hex').slice(0, 32);
};
