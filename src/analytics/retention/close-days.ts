import pLimit from 'p-limit';

import type { Log, LogFields } from '../../log.ts';
import {
  DamagedRow,
  decodingRow,
  LaterFormat,
  StorageTrouble,
  unlessDamaged,
  WriteConflict,
} from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayHeld } from '../errors.ts';
import { type Day, dayOf, microsecondOfMinute, MICROSECONDS } from '../model/day.ts';
import { formatInstant, instantFrom, now } from '../model/instant.ts';
import { openDays, type StoredDay } from '../rows/day-row.ts';
import { CLOSING_MARGIN, type Days, isClockRight } from '../rows/days.ts';
import { INSTANT_PROPERTIES, instantOf } from '../rows/event-row.ts';
import { deleteGenerations, deleteRows } from '../rows/generations.ts';
import { ALL_EVENTS, parseEventKey, parseMinuteKey, rowsOfHour, SECONDS_A_ROW, shardPartition } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, secondOf } from '../rows/minute-row.ts';
import { parseStripe } from '../rows/stripes.ts';

/** When days are closed (NCRONTAB): hourly, and not at the full hour, when many other timers run. */
export const CLOSE_DAYS_SCHEDULE = '0 20 * * * *';

/** How long a run works at most: less than the 30 minutes that the host gives it. The next run continues. */
const RUN_MS = 20 * 60_000;

/** Requests at the same time: few, so that they do not slow down recording and answering. */
const PARALLEL_REQUESTS = 8;

export interface ClosingDependencies {
  readonly table: Table;
  readonly days: Days;
  /** A day is closed when it ended at least this number of days ago. */
  readonly retentionDays: number;
  /** Backs up a day that takes no more changes; if that fails, its event rows stay. */
  readonly backUp?: ((day: Day) => Promise<void>) | undefined;
  /** How long a run works at most, in milliseconds. */
  readonly runMs?: number;
}

/**
 * Closes the days that are older than the retention, oldest first, for as long as a run may take: in which steps and why is in
 * the README, under Closed days. Runs may stop anywhere and may run in several processes at once. A day that cannot be closed is logged and
 * left for the next run; it holds up no other one. Does nothing while the clock of this process is wrong.
 *
 * @throws an unexpected error, after all days were tried
 */
export const closeDays = async (
  { table, days, retentionDays, backUp, runMs = RUN_MS }: ClosingDependencies,
  log: Log,
): Promise<void> => {
  const end = performance.now() + runMs;
  const hasTime = (): boolean => performance.now() < end;
  const unexpected: unknown[] = [];
  const open = await openDays(table);
  const firstOpenDay = dayOf(instantFrom(now() - BigInt(retentionDays) * MICROSECONDS.day));
  for (const day of open.filter((one) => one < firstOpenDay)) {
    if (!hasTime()) break;
    if (!isClockRight(table)) {
      log.error('days not closed', { reason: 'clock is off' });
      break;
    }
    try {
      const row = await days.close(day);
      if (row === undefined) continue;
      if (now() < row.closes + CLOSING_MARGIN) {
        log.info('day closes', { day, closes: formatInstant(row.closes) });
        continue;
      }
      await backUp?.(day);
      // A rewrite that was stopped may have left some.
      await deleteGenerations(table, day, (generation) => generation !== row.generation);
      if (await deleteEvents(table, day, row, hasTime, log)) await days.noteDeleted(day, row);
    } catch (error) {
      log.error('day not closed', { day, ...fieldsOf(error) });
      if (!EXPECTED.some((kind) => error instanceof kind)) unexpected.push(error);
    }
  }
  if (unexpected.length > 0) throw unexpected[0];
};

/** Deletes the event rows of a closed day, except the rows that readers need. @returns whether all rows were read */
const deleteEvents = async (
  table: Table,
  day: Day,
  { shards, generation }: StoredDay,
  hasTime: () => boolean,
  log: Log,
): Promise<boolean> => {
  const limit = pLimit(PARALLEL_REQUESTS);
  const deletions = await Promise.allSettled(
    Array.from({ length: shards }, async (_, shard) => {
      const partition = shardPartition(day, shard, generation);
      const isKept = neededRows(table, partition);
      return deleteRows(table, partition, ALL_EVENTS, {
        query: { select: INSTANT_PROPERTIES },
        isKept,
        hasTime,
        limit,
      });
    }),
  );
  const rows = { event_rows_deleted: 0, event_rows_kept: 0 };
  let isFinished = true;
  for (const deletion of deletions) {
    if (deletion.status === 'rejected') throw deletion.reason;
    rows.event_rows_deleted += deletion.value.deleted;
    rows.event_rows_kept += deletion.value.kept;
    isFinished &&= deletion.value.isFinished;
  }
  log.info(isFinished ? 'day closed' : 'day is being closed', { day, shards, ...rows });
  return isFinished;
};

/**
 * Whether an event row of a shard is in a second that has overflowed in any stripe: its samples were dropped, and readers use its event
 * rows. Only of a closed day: in an open one more seconds may overflow. A row is also kept if this cannot be decided: if the event row or
 * the samples of its second are damaged.
 */
const neededRows = (table: Table, partition: string): ((row: StoredRow) => Promise<boolean>) => {
  // Event rows come in the order of their keys, so one hour is enough.
  let known: { readonly hour: number; readonly seconds: ReadonlySet<number> } | undefined;
  return async (row) => {
    const second = unlessDamaged(() => {
      const { minute } = parseEventKey(row.rowKey);
      return minute * 60 + secondOf(microsecondOfMinute(instantOf(row)));
    });
    if (second === undefined) return true;
    const hour = Math.floor(second / 3_600);
    if (known?.hour !== hour) known = { hour, seconds: await overflowedSeconds(table, partition, hour) };
    return known.seconds.has(second);
  };
};

/** The overflowed seconds of an hour, and the seconds of damaged rows, as seconds of the day. */
const overflowedSeconds = async (table: Table, partition: string, hour: number): Promise<ReadonlySet<number>> => {
  const seconds = new Set<number>();
  for await (const page of table.pages(partition, rowsOfHour('minute', hour))) {
    for (const row of page) {
      const { minute, second } = decodingRow(row, () => parseMinuteKey(parseStripe(row.rowKey).key));
      const overflowed = unlessDamaged(() => overflowedSecondsOf(minuteRowFrom(row)));
      const all = Array.from({ length: SECONDS_A_ROW }, (_, index) => second + index);
      for (const each of overflowed ?? all) seconds.add(minute * 60 + each);
    }
  }
  return seconds;
};

const EXPECTED = [StorageTrouble, WriteConflict, DamagedRow, LaterFormat, DayHeld] as const;

const fieldsOf = (error: unknown): LogFields => {
  const kind = error instanceof Error ? error.name : typeof error;
  return error instanceof DamagedRow || error instanceof LaterFormat
    ? { kind, partition: error.partitionKey, row: error.rowKey }
    : { kind };
};
