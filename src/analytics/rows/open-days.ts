import { isDay, type Day } from '../model/day.ts';
import { DamagedRow, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { OPEN_DAYS_PARTITION } from './keys.ts';

// The index of open days: a row for each day that is not closed, inserted before the day's manifest and deleted as the last step of
// closing the day. So every day that has events and is not wholly closed is in it.

/** The open days before a day, oldest first. @throws {StorageTrouble | DamagedRow} */
export const openDaysBefore = async (table: Table, day: Day): Promise<readonly Day[]> => {
  const rows = await table.all(OPEN_DAYS_PARTITION, { from: '', before: day }, { select: [] });
  return rows.map(({ partitionKey, rowKey }) => {
    if (!isDay(rowKey)) throw new DamagedRow(partitionKey, rowKey, 'its key is not a day');
    return rowKey;
  });
};

/** Takes a day out of the index, where it is in it. @throws {StorageTrouble} */
export const removeOpenDay = async (table: Table, day: Day): Promise<void> => {
  try {
    await table.delete(OPEN_DAYS_PARTITION, [day]);
  } catch (error) {
    // Another process did.
    if (!(error instanceof WriteConflict)) throw error;
  }
};
