import { hourKey } from './keys.ts';
import { ByteReader, ByteWriter, readTally, withBits, writeTally } from './tally-bytes.ts';
import { tallyFromProperties, tallyProperties, tallyPropertyNames } from './tally-text.ts';
import { EMPTY_TALLY, plus, type Tally } from './tally.ts';
import { WriteConflict, writeOf, type PropertyValue, type RowWrite } from './table.ts';
import { twoDigits } from './two-digits.ts';

/** One minute of a shard. */
export interface ShardMinute {
  /** Its tally, as {@link minuteTally} reads it. */
  readonly bytes: Uint8Array;
  /** The cameras that sent its events, as bits of their places in the shard's list. */
  readonly active: Uint8Array;
}

/** One hour of a shard, over all its cameras, or what was read of it; minutes 0 to 59 that have events. */
export interface ShardHour {
  readonly tally: Tally;
  /** The cameras that sent its events, as bits of their places in the shard's list. */
  readonly active: Uint8Array;
  readonly minutes: ReadonlyMap<number, ShardMinute>;
}

/** An hour in which nothing was sent yet. */
export const EMPTY_HOUR: ShardHour = { tally: EMPTY_TALLY, active: new Uint8Array(), minutes: new Map() };

const minuteProperty = (minute: number): string => `m${twoDigits(minute)}`;
const activeProperty = (minute: number): string => `a${twoDigits(minute)}`;

/** The properties to read for the hour's own tally and active cameras. */
export const HOUR_PROPERTIES: readonly string[] = [...tallyPropertyNames('hour'), 'active'];

/** The properties to read for some minutes (0 to 59) of an hour. */
export const minuteProperties = (minutes: Iterable<number>): readonly string[] =>
  [...minutes].flatMap((minute) => [minuteProperty(minute), activeProperty(minute)]);

const storedBytes = (value: unknown): Uint8Array => {
  if (value === undefined) return new Uint8Array();
  if (!(value instanceof Uint8Array)) throw new TypeError('a stored hour is damaged');
  return value;
};

/**
 * An hour row, or the part of it that was read → the hour.
 *
 * @throws {TypeError} where the row is not what {@link hourWrite} writes
 */
export const shardHourFrom = (properties: Readonly<Record<string, unknown>>): ShardHour => {
  const minutes = new Map<number, ShardMinute>();
  for (let minute = 0; minute < 60; minute += 1) {
    const bytes = storedBytes(properties[minuteProperty(minute)]);
    if (bytes.length > 0) minutes.set(minute, { bytes, active: storedBytes(properties[activeProperty(minute)]) });
  }
  return {
    tally: tallyFromProperties('hour', properties) ?? EMPTY_TALLY,
    active: storedBytes(properties['active']),
    minutes,
  };
};

/**
 * The tally of a minute.
 *
 * @param categories the shard's list of categories: those of its `total` row, in order
 * @returns undefined where the list is older than the row: read it again
 * @throws {TypeError} where the bytes are not what {@link addToHour} makes
 */
export const minuteTally = (minute: ShardMinute | undefined, categories: readonly string[]): Tally | undefined =>
  minute === undefined ? EMPTY_TALLY : readTally(new ByteReader(minute.bytes), categories);

/** How many events a minute has: the first count of its tally. */
export const eventsOf = ({ bytes }: ShardMinute): number => new ByteReader(bytes).count();

/**
 * The hour with a difference added.
 *
 * @param minute minute of the hour, 0 to 59
 * @param cameras the places of its cameras in the shard's list
 * @param categories the shard's list of categories with those of the difference in it
 * @throws {WriteConflict} where the list is older than the hour
 */
export const addToHour = (
  hour: ShardHour,
  minute: number,
  difference: Tally,
  cameras: readonly number[],
  categories: readonly string[],
): ShardHour => {
  const before = hour.minutes.get(minute);
  const tally = minuteTally(before, categories);
  if (tally === undefined) throw new WriteConflict('the hour was read after another writer changed the total');
  const writer = new ByteWriter();
  writeTally(writer, plus(tally, difference), new Map(categories.map((category, at) => [category, at])));
  const active = withBits(before?.active ?? new Uint8Array(), cameras);
  return {
    tally: plus(hour.tally, difference),
    active: withBits(hour.active, cameras),
    minutes: new Map(hour.minutes).set(minute, { bytes: writer.bytes(), active }),
  };
};

/** Writes the hour's tally and the minutes named; `etag` undefined: there is no row yet. */
export const hourWrite = (
  hour: number,
  etag: string | undefined,
  state: ShardHour,
  minutes: Iterable<number>,
): RowWrite => {
  const properties: Record<string, PropertyValue> = { ...tallyProperties('hour', state.tally), active: state.active };
  for (const minute of minutes) {
    const ofMinute = state.minutes.get(minute);
    if (ofMinute === undefined) continue;
    properties[minuteProperty(minute)] = ofMinute.bytes;
    properties[activeProperty(minute)] = ofMinute.active;
  }
  return writeOf(hourKey(hour), etag, properties);
};
