import { DamagedRow, DecodeError, decodingRow } from '../../storage/errors.ts';
import { type Properties, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { type Day, isDay } from '../model/day.ts';
import { type Instant, parseInstant, sortableInstant } from '../model/instant.ts';
import { MAX_SHARDS } from '../model/shard.ts';
import { DAYS_PARTITION } from './keys.ts';
import { readWhole } from './properties.ts';
import { MAX_ATTEMPT } from './stripes.ts';

/** The version of the accuracy figures that a new day's tallies have. A day of another version is named in answers, and not guessed. */
export const ACCURACY = 1;

/** The one row of a day in the table's partition `days`. */
interface DayRow {
  readonly shards: number;
  /** The generation of the day's rows that counts: the attempt that wrote them; 0: no rewrite did. */
  readonly generation: number;
  /** The latest attempt to rewrite the day. Numbers are never reused. */
  readonly attempt: number;
  /** The rewrite that is at work, or whose owner died: the process, and from when on others may remove the hold. */
  readonly hold?: { readonly owner: string; readonly until: Instant } | undefined;
  /** From this moment on the day takes no more changes; undefined: its closing is not announced. */
  readonly closes?: Instant | undefined;
  /** The day's event rows are gone: timers have no more work with it. */
  readonly isDeleted: boolean;
  /** The version of the accuracy figures in the day's tallies; 0: the figures are incomplete. */
  readonly accuracy: number;
}

export interface StoredDay extends DayRow {
  readonly etag: string;
}

/** The row of a day that has no events yet. */
export const newDay = (shards: number): DayRow => ({
  shards,
  generation: 0,
  attempt: 0,
  isDeleted: false,
  accuracy: ACCURACY,
});

const readInstant = (name: string, properties: Properties): Instant | undefined => {
  const text = properties[name];
  const instant = typeof text === 'string' ? parseInstant(text) : undefined;
  if (text !== undefined && instant === undefined) throw new DecodeError(`${name} is not a time`);
  return instant;
};

const readHold = (properties: Properties): DayRow['hold'] => {
  const owner = properties['hold_owner'];
  const until = readInstant('hold_until', properties);
  if (owner === undefined && until === undefined) return undefined;
  if (typeof owner !== 'string' || until === undefined) throw new DecodeError('half of the hold is missing');
  return { owner, until };
};

export const dayRowFrom = (row: StoredRow): StoredDay =>
  decodingRow(row, () => {
    const { properties } = row;
    return {
      etag: row.etag,
      shards: readWhole('shards', properties, 1, MAX_SHARDS),
      generation: readWhole('generation', properties, 0, MAX_ATTEMPT),
      attempt: readWhole('attempt', properties, 0, MAX_ATTEMPT),
      hold: readHold(properties),
      closes: readInstant('closes', properties),
      isDeleted: properties['deleted'] === true,
      accuracy: readWhole('accuracy', properties, 0, MAX_ATTEMPT),
    };
  });

/** Reads the row of a day as storage has it now; undefined if it does not exist. */
export const readDayRow = async (table: Table, day: Day): Promise<StoredDay | undefined> => {
  const row = await table.get(DAYS_PARTITION, day);
  return row && dayRowFrom(row);
};

/**
 * Writes the row of a day in place of the version that was read; `etag` undefined: it does not exist.
 *
 * @returns the row with its new version
 * @throws {WriteConflict} if another process wrote it in the meantime
 */
export const writeDayRow = async (
  table: Table,
  day: Day,
  etag: string | undefined,
  { shards, generation, attempt, hold, closes, isDeleted, accuracy }: DayRow,
): Promise<StoredDay> => {
  const properties = {
    shards,
    generation,
    attempt,
    accuracy,
    ...(hold && { hold_owner: hold.owner, hold_until: sortableInstant(hold.until) }),
    ...(closes !== undefined && { closes: sortableInstant(closes) }),
    ...(isDeleted && { deleted: true }),
  };
  const [written = ''] = await table.transact(DAYS_PARTITION, [writeOf(day, etag, properties, 'replace')]);
  return { etag: written, shards, generation, attempt, hold, closes, isDeleted, accuracy };
};

/** The days that still have their event rows, oldest first: closed ones are left out once theirs are deleted. */
export const openDays = async (table: Table): Promise<readonly Day[]> => {
  const rows = await table.all(DAYS_PARTITION, { from: '', before: '~' }, { select: ['deleted'] });
  return rows.flatMap(({ partitionKey, rowKey, properties }) => {
    if (!isDay(rowKey)) throw new DamagedRow(partitionKey, rowKey, 'its key is not a day');
    return properties['deleted'] === true ? [] : [rowKey];
  });
};
