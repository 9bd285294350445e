import pLimit from 'p-limit';

import type { Log, LogFields } from '../../log.ts';
import { dayOf, MICROSECONDS, type Day } from '../model/day.ts';
import { instantFrom, type Instant } from '../model/instant.ts';
import { DamagedRow, LaterFormat, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { openDaysBefore } from '../rows/open-days.ts';
import { closeDay } from './close-day.ts';

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
 * Closes the days that are older than the retention, oldest first, for as long as a run may take. A day that cannot be closed is
 * logged and left for the next run; it holds up no other one.
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
      const {
        shards: closed,
        deleted,
        kept,
        finished,
      } = await closeDay(table, shards, day, {
        ...options,
        limit,
        hasTime,
      });
      const fields = { day, shards: closed, event_rows_deleted: deleted, event_rows_kept: kept };
      if (finished) log.info('day closed', fields);
      else log.info('day is being closed', fields);
    } catch (error) {
      log.error('day not closed', { day, ...fieldsOf(error) });
      if (!isExpected(error)) unexpected.push(error);
    }
  }
  if (unexpected.length > 0) throw unexpected[0];
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
