import { setTimeout } from 'node:timers/promises';

import { DamagedRow, decodingRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import { microsecondOfMinute } from '../model/day.ts';
import { INSTANT_PROPERTIES, instantOf } from '../rows/event-row.ts';
import { ALL_EVENTS, minutesOfHour, parseEventKey, parseMinuteKey, SECONDS_A_ROW } from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, secondOf } from '../rows/minute-row.ts';
import { parseStripe } from '../rows/stripes.ts';

/** An entity group transaction takes 100 operations. */
const MAX_OPERATIONS = 100;
/** Tries in a row without any progress. Storage throttles a partition from which much is deleted. */
const TRIES = 6;

/** What was done to the event rows of a shard. */
export interface DeletedEvents {
  /** Rows deleted in this run. */
  readonly deleted: number;
  /** Rows that stay, of those that were looked at: of overflowed seconds, and damaged ones. */
  readonly kept: number;
  /** Whether all rows were looked at. */
  readonly finished: boolean;
}

/** How event rows are deleted. */
export interface DeletingOptions {
  /** Runs requests, so many at a time. */
  readonly limit: <Result>(run: () => Promise<Result>) => Promise<Result>;
  /** Whether there is time for more. */
  readonly hasTime: () => boolean;
  /** Waits before the next try. */
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/**
 * Deletes the event rows of a shard of a closed day, except those that readers need: of seconds that have overflowed. May be
 * stopped at any point and started again, and may run in several processes at once.
 *
 * @throws {StorageTrouble | WriteConflict} after bounded tries
 */
export const deleteEvents = async (
  table: Table,
  partition: string,
  { limit, hasTime, pause = async (milliseconds) => setTimeout(milliseconds) }: DeletingOptions,
): Promise<DeletedEvents> => {
  const isNeeded = neededRows(table, partition);
  let [deleted, kept] = [0, 0];
  let from: string | undefined;
  for (let tries = 1; hasTime();) {
    const at = from;
    try {
      const { rows, continuation } = await limit(async () =>
        table.page(partition, ALL_EVENTS, { select: INSTANT_PROPERTIES, continuation: at }),
      );
      const keys: string[] = [];
      for (const row of rows) if (!(await isNeeded(row))) keys.push(row.rowKey);
      await inTransactions(keys, async (some) => {
        await limit(async () => table.delete(partition, some));
        deleted += some.length;
        tries = 1;
      });
      kept += rows.length - keys.length;
      if (continuation === undefined) return { deleted, kept, finished: true };
      from = continuation;
      tries = 1;
    } catch (error) {
      // After a conflict the page is read again: another process deleted some of its rows.
      if (!(error instanceof StorageTrouble || error instanceof WriteConflict) || tries === TRIES) throw error;
      const asked = error instanceof StorageTrouble ? Math.min(error.retryAfterMs, 5_000) : 0;
      await pause(Math.max(asked, backoffMs(tries, 100, 5_000)));
      tries += 1;
    }
  }
  return { deleted, kept, finished: false };
};

/** Hands over keys, as many as a transaction takes. If some transactions fail, the others are made all the same; then the first error is thrown. */
const inTransactions = async (
  keys: readonly string[],
  deleteSome: (keys: readonly string[]) => Promise<void>,
): Promise<void> => {
  const starts = Array.from({ length: Math.ceil(keys.length / MAX_OPERATIONS) }, (_, index) => index * MAX_OPERATIONS);
  const results = await Promise.allSettled(
    starts.map(async (start) => deleteSome(keys.slice(start, start + MAX_OPERATIONS))),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
};

/**
 * Whether an event row of a shard is in a second that has overflowed in any stripe: its samples were dropped, and readers use its event
 * rows. Only of a closed day: in an open one more seconds may overflow. A row that cannot be told is needed as well: if the event row or
 * the samples of its second are damaged.
 */
const neededRows = (table: Table, partition: string): ((row: StoredRow) => Promise<boolean>) => {
  // Event rows come in the order of their keys, so one hour is enough.
  let known: { readonly hour: number; readonly seconds: ReadonlySet<number> } | undefined;
  return async (row) => {
    const second = unlessDamaged(() => {
      const { minute } = decodingRow(row, () => parseEventKey(row.rowKey));
      return minute * 60 + secondOf(microsecondOfMinute(instantOf(row)));
    });
    if (second === undefined) return true;
    const hour = Math.floor(second / 3_600);
    if (known?.hour !== hour) known = { hour, seconds: await overflowedSeconds(table, partition, hour) };
    return known.seconds.has(second);
  };
};

/** The overflowed seconds of an hour, and those of damaged rows, as seconds of the day. */
const overflowedSeconds = async (table: Table, partition: string, hour: number): Promise<ReadonlySet<number>> => {
  const seconds = new Set<number>();
  for await (const page of table.pages(partition, minutesOfHour(hour))) {
    for (const row of page) {
      const { minute, second } = decodingRow(row, () => parseMinuteKey(parseStripe(row.rowKey).key));
      const overflowed = unlessDamaged(() => overflowedSecondsOf(minuteRowFrom(row)));
      const all = Array.from({ length: SECONDS_A_ROW }, (_, index) => second + index);
      for (const each of overflowed ?? all) seconds.add(minute * 60 + each);
    }
  }
  return seconds;
};

const unlessDamaged = <Value>(decode: () => Value): Value | undefined => {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DamagedRow) return undefined;
    throw error;
  }
};
