import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';

import type { Log } from '../../log.ts';
import type { BackupContainer } from '../../storage/azure-container.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayMoved } from '../errors.ts';
import { type Day, dayOf, MICROSECONDS } from '../model/day.ts';
import { type Instant, instantFrom, now, sortableInstant } from '../model/instant.ts';
import { openDays, type StoredDay } from '../rows/day-row.ts';
import type { Days } from '../rows/days.ts';
import { decodedPages } from '../rows/decoded-pages.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { ALL_EVENTS, parseEventKey, shardPartition } from '../rows/keys.ts';
import { listStripes } from '../rows/stripes.ts';
import { eventLines, type EventsRead } from './day-events.ts';

/** When days are backed up (NCRONTAB): a run in which nothing has changed costs one query a day of the table. */
export const BACKUP_SCHEDULE = '0 40 */6 * * *';

/** A day is backed up when it ended this long ago: late events are rare, and are noticed. */
const BACKED_UP_AFTER_DAYS = 2n;

/** How long a run works at most: less than the 30 minutes that the host gives it. The next run continues. */
const RUN_MS = 20 * 60_000;

export interface BackupDependencies {
  readonly table: Table;
  readonly days: Days;
  readonly container: () => Promise<BackupContainer>;
}

const FEWER = '.fewer.';

/**
 * The name of the backup of a shard of a day: `2026-11-20_00.ndjson.gz`. It says no generation: a rewritten day is the same day. A backup
 * that has fewer events than an earlier backup has another name: both are kept.
 */
const backupName = (day: Day, shard: number, hasFewer = false): string =>
  `${shardPartition(day, shard)}${hasFewer ? FEWER : '.'}ndjson.gz`;

/**
 * Backs up every open day that ended two days ago or earlier, oldest first, if it has changed since its last backup. A run may stop
 * anywhere: the next run continues with the missing shards. A day that fails is logged and holds up no other one.
 */
export const backUpDays = async (dependencies: BackupDependencies, log: Log): Promise<void> => {
  const backingUp = await start(dependencies, log);
  const { table, days, stop } = backingUp;
  const first = dayOf(instantFrom(now() - BACKED_UP_AFTER_DAYS * MICROSECONDS.day));
  const counted = { days: 0, days_backed_up: 0, days_failed: 0 };
  for (const day of (await openDays(table)).filter((one) => one < first)) {
    if (stop.aborted) break;
    counted.days += 1;
    try {
      const row = await days.stored(day);
      // A day that closes is backed up when it takes no more changes: see backUpClosing.
      if (row === undefined || row.closes !== undefined) continue;
      if (await backUpDay(backingUp, day, row)) counted.days_backed_up += 1;
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
export const backUpClosing = async (dependencies: BackupDependencies, day: Day, log: Log): Promise<void> => {
  try {
    const row = await dependencies.days.stored(day);
    if (row !== undefined) await backUpDay(await start(dependencies, log, day), day, row);
  } catch (error) {
    logFailure(error, day, log);
    throw error;
  }
};

const start = async ({ table, days, container }: BackupDependencies, log: Log, prefix = ''): Promise<BackingUp> => {
  const stop = AbortSignal.timeout(RUN_MS);
  const blobs = await container();
  return { table, days, blobs, known: await blobs.list(prefix), log, stop };
};

const logFailure = (error: unknown, day: Day, log: Log): void => {
  const reason = error instanceof StorageTrouble ? error.reason : undefined;
  log.error('day not backed up', { day, kind: error instanceof Error ? error.name : typeof error, reason });
};

interface BackingUp {
  readonly table: Table;
  readonly days: Days;
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
  const closed = closedFact(closes);
  const partitions = Array.from({ length: shards }, (_, shard) => shardPartition(day, shard, generation));
  const changed: ChangedShard[] = [];
  for (const [shard, partition] of partitions.entries()) {
    const written = [known.get(backupName(day, shard)), known.get(backupName(day, shard, true))];
    // Once the backup of a closed day is complete, its event rows may be deleted.
    if (closed !== '' && written.some((one) => one?.facts['closed'] === closed)) continue;
    const state = await stateOf(table, partition);
    if (closed !== '' || !written.some((one) => one?.facts['state'] === state))
      changed.push({ shard, partition, state });
  }
  const names = [...known.keys()].filter((name) => name.startsWith(`${day}_`));
  const current = new Set(partitions.map((_, shard) => backupName(day, shard)));
  const others = names.filter((name) => !current.has(name));
  if (changed.length === 0 && others.length === 0) return false;
  const before = names
    .filter((name) => !name.includes(FEWER))
    .reduce((sum, name) => sum + Number(known.get(name)?.facts['events'] ?? 0), 0);
  let events = 0;
  for (const partition of partitions) events += await countEvents(table, partition);
  const hasFewer = events < before;
  if (hasFewer) log.error('backup has fewer events', { day, events, before });
  for (const one of changed) await backUpShard(backingUp, day, row, one, hasFewer);
  if (!hasFewer) await deleteBackups(blobs, others, log);
  return changed.length > 0;
};

/** Deletes backups whose events are in others: the day was rewritten with fewer shards, or has all its events again. */
const deleteBackups = async (blobs: BackupContainer, names: readonly string[], log: Log): Promise<void> => {
  try {
    for (const name of names) await blobs.delete(name);
  } catch (error) {
    // A signature may allow no deletion. To send them too, when a day is brought back, does no harm.
    if (!(error instanceof StorageTrouble)) throw error;
    log.warn('old backups not deleted', { backups: names.length, first: names[0], reason: error.reason });
  }
};

const backUpShard = async (
  { table, days, blobs, known, log, stop }: BackingUp,
  day: Day,
  { generation, closes }: StoredDay,
  { shard, partition, state }: ChangedShard,
  hasFewer: boolean,
): Promise<void> => {
  const name = backupName(day, shard, hasFewer);
  const read: EventsRead = { events: 0, unreadable: [] };
  const lines = Readable.from(whileCurrent(days, day, generation, eventLines(table, partition, read)));
  const compressed = lines.pipe(createGzip());
  lines.on('error', (error) => compressed.destroy(error));
  const closed = closedFact(closes);
  const facts = () => ({ state, closed, events: String(read.events), unreadable: String(read.unreadable.length) });
  const etag = known.get(name)?.etag;
  const bytes = await blobs.write(name, compressed, facts, etag, stop).finally(() => lines.destroy());
  log.info('shard backed up', { day, shard, events: read.events, bytes });
  if (read.unreadable.length > 0) {
    log.error('events not backed up', { day, shard, events: read.unreadable.length, first: read.unreadable[0] });
  }
};

/** Since when the backed up day takes no changes, as text; empty: it is open. */
const closedFact = (closes: Instant | undefined): string => (closes === undefined ? '' : sortableInstant(closes));

/**
 * Lines that were read from a generation of a day, which still counts when the last line was read: otherwise rows may have been deleted
 * during the read.
 *
 * @throws {DayMoved} nothing of it is a backup
 */
async function* whileCurrent(
  days: Days,
  day: Day,
  generation: number,
  lines: AsyncIterable<string>,
): AsyncGenerator<string> {
  yield* lines;
  if ((await days.stored(day))?.generation !== generation) throw new DayMoved();
}

const partsOf = (row: StoredRow) => [parseEventKey(row.rowKey), eventRowFrom(row)];

/** How many events {@link eventLines} reads. */
const countEvents = async (table: Table, partition: string): Promise<number> => {
  let events = 0;
  for await (const { decoded } of decodedPages(table, partition, ALL_EVENTS, partsOf)) events += decoded.length;
  return events;
};

/** What changes with every commit to a shard: the versions of its `day` rows. Each generation has its own versions. */
const stateOf = async (table: Table, partition: string): Promise<string> => {
  const { stripes } = await listStripes(table, partition);
  const hash = createHash('sha256');
  for (const { partitionKey, rowKey, etag } of stripes.values()) hash.update(`${partitionKey} ${rowKey} ${etag}\n`);
  return hash.digest('hex').slice(0, 32);
};
