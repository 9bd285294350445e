import pLimit from 'p-limit';

import type { Log, LogFields } from '../../log.ts';
import { DamagedRow, LaterFormat, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { dayOf, MICROSECONDS, type Day } from '../model/day.ts';
import { formatInstant, instantFrom, type Instant } from '../model/instant.ts';
import { CLOSING_MARGIN, type DayShards, openDaysBefore, removeOpenDay } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import { deleteEvents, type DeletingOptions } from './delete-events.ts';

/** When days are closed (NCRONTAB): hourly, and not at the full hour, when many other timers run. */
export const CLOSE_DAYS_SCHEDULE = '0 20 * * * *';

/** How long a run works at most: less than the 30 minutes that the host gives it. The next run goes on. */
const RUN_MS = 20 * 60_000;

/** Requests at the same time: few, so that recording and answering go on undisturbed. */
const PARALLEL_REQUESTS = 8;

/** What closing days needs. */
export interface ClosingDependencies {
  readonly table: Table;
  readonly shards: DayShards;
  /** A day is closed when it ended at least so many days ago. */
  readonly retentionDays: number;
  /** The current time. */
  readonly now: () => Instant;
  /** How long a run works at most, in milliseconds. */
  readonly runMs?: number;
  /** Waits before a request is tried again. */
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/** The first day that stays open. */
const firstOpenDay = (now: Instant, retentionDays: number): Day =>
  dayOf(instantFrom(now - BigInt(retentionDays) * MICROSECONDS.day));

/**
 * Closes the days that are older than the retention, for ever, oldest first, for as long as a run may take. A closed day takes no more
 * changes, because nothing could tell a repeat any more: its event rows are deleted. Its counters and samples stay, and so every
 * answer stays exact.
 *
 * A first run writes into the day's manifest the moment at which the day closes, {@link CLOSING_MARGIN} ahead: longer than any recorder goes
 * on without reading the manifest. A run at least as long after that moment deletes the event rows, when no transaction can be under way
 * any more, and then takes the day out of the index of open days. Runs may stop anywhere and may run in several processes at once.
 *
 * A day that cannot be closed is logged and left for the next run; it holds up no other one.
 *
 * @throws an error that nobody expected, after all days were tried
 */
export const closeDays = async (
  { table, shards, retentionDays, now, runMs = RUN_MS, ...options }: ClosingDependencies,
  log: Log,
): Promise<void> => {
  const end = performance.now() + runMs;
  const hasTime = (): boolean => performance.now() < end;
  const limit = pLimit(PARALLEL_REQUESTS);
  const unexpected: unknown[] = [];
  for (const day of await openDaysBefore(table, firstOpenDay(now(), retentionDays))) {
    if (!hasTime()) return;
    try {
      const manifest = await shards.close(day, now());
      if (now() < manifest.closes + CLOSING_MARGIN) {
        log.info('day closes', { day, closes: formatInstant(manifest.closes) });
        continue;
      }
      await deleteDay(table, day, manifest.shards, { ...options, limit, hasTime }, log);
    } catch (error) {
      log.error('day not closed', { day, ...fieldsOf(error) });
      if (!isExpected(error)) unexpected.push(error);
    }
  }
  if (unexpected.length > 0) throw unexpected[0];
};

/** Deletes the event rows of a closed day, and takes it out of the index of open days once none is left. */
const deleteDay = async (table: Table, day: Day, shards: number, options: DeletingOptions, log: Log): Promise<void> => {
  const results = await Promise.allSettled(
    Array.from({ length: shards }, async (_, shard) => deleteEvents(table, shardPartition(day, shard), options)),
  );
  const sum = { deleted: 0, kept: 0, finished: true };
  for (const result of results) {
    if (result.status === 'rejected') throw result.reason;
    sum.deleted += result.value.deleted;
    sum.kept += result.value.kept;
    sum.finished &&= result.value.finished;
  }
  if (sum.finished) await removeOpenDay(table, day);
  const fields = { day, shards, event_rows_deleted: sum.deleted, event_rows_kept: sum.kept };
  log.info(sum.finished ? 'day closed' : 'day is being closed', fields);
};

const isExpected = (error: unknown): boolean =>
  error instanceof StorageTrouble ||
  error instanceof WriteConflict ||
  error instanceof DamagedRow ||
  error instanceof LaterFormat;

const fieldsOf = (error: unknown): LogFields => {
  const kind = error instanceof Error ? error.name : typeof error;
  return error instanceof DamagedRow || error instanceof LaterFormat
    ? { kind, partition: error.partitionKey, row: error.rowKey }
    : { kind };
};
