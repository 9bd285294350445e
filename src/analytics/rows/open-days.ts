import { DamagedRow, DecodeError, decodingRow, WriteConflict } from '../../storage/errors.ts';
import type { Properties, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { isDay, type Day } from '../model/day.ts';
import { type Instant, instantFromMilliseconds, parseInstant } from '../model/instant.ts';
import { OPEN_DAYS_PARTITION } from './keys.ts';

// The index of open days: a row for each day that is not closed, inserted before the day's manifest and deleted as the last step of closing
// the day. So every day that has events and is not wholly closed is in it. Closing and repair exclude one another by this row: each writes
// it at the version at which it saw nothing of the other.

/** The property that says when a day closes, of its manifest and of its row in the index. */
export const CLOSES = 'closes';

/** Until then a repair may be at work; a second property says whether one began and did not finish. */
export const REPAIR_UNTIL = 'repair_until';
export const IS_REPAIRING = 'is_repairing';

/** A day in the index. */
export interface OpenDay {
  readonly etag: string;
  /** From this moment on the day takes no more changes; undefined: its closing is not announced. */
  readonly closes: Instant | undefined;
  /** Until this moment a transaction of a repair may be under way. */
  readonly repairUntil: Instant | undefined;
  /** A repair began and has not finished: rows may be set aside, and what they held is in no counter yet. */
  readonly isRepairing: boolean;
}

/** Reads a moment, if there is one. */
export const readMoment = (name: string, properties: Properties): Instant | undefined => {
  const text = properties[name];
  const moment = typeof text === 'string' ? parseInstant(text) : undefined;
  if (text !== undefined && moment === undefined) throw new DecodeError(`${name} is not a time`);
  return moment;
};

/** What a row of the index says. @throws {DamagedRow} */
export const openDayFrom = (row: StoredRow): OpenDay =>
  decodingRow(row, () => ({
    etag: row.etag,
    closes: readMoment(CLOSES, row.properties),
    repairUntil: readMoment(REPAIR_UNTIL, row.properties),
    isRepairing: row.properties[IS_REPAIRING] === true,
  }));

/** Now, by the clock of storage: what decides about days must not depend on the clock of one instance. */
export const storageNow = (table: Table): Instant => instantFromMilliseconds(table.now());

/** All open days, oldest first. @throws {StorageTrouble | DamagedRow} */
export const openDays = async (table: Table): Promise<readonly Day[]> => {
  const rows = await table.all(OPEN_DAYS_PARTITION, { from: '', before: '~' }, { select: [] });
  return rows.map(({ partitionKey, rowKey }) => {
    if (!isDay(rowKey)) throw new DamagedRow(partitionKey, rowKey, 'its key is not a day');
    return rowKey;
  });
};

/** Takes a day out of the index, if it is in it. @throws {StorageTrouble} */
export const removeOpenDay = async (table: Table, day: Day): Promise<void> => {
  try {
    await table.delete(OPEN_DAYS_PARTITION, [day]);
  } catch (error) {
    // Another process did.
    if (!(error instanceof WriteConflict)) throw error;
  }
};
