import { ByteReader, ByteWriter } from './byte-stream.ts';
import { MAX_CAMERAS_PER_SHARD } from './camera-list.ts';
import { grouped } from '../grouped.ts';
import { minuteKey } from './keys.ts';
import { passTally, placesOf, readTally, writeTally } from './tally-bytes.ts';
import { plus, type Tally } from '../model/tally.ts';
import { WriteConflict, writeOf, type PropertyValue, type RowWrite } from './table.ts';
import { twoDigits } from './two-digits.ts';

/** What one camera sent at one microsecond. */
export interface Moment<Counts = Tally> {
  /** Microseconds into the minute, 0 to 59,999,999. */
  readonly at: number;
  /** The camera's place in the shard's list. */
  readonly place: number;
  readonly tally: Counts;
}

/** A moment as it is stored: its tally as `readTally` reads it. */
export type StoredMoment = Moment<Uint8Array>;

/** The moments of one minute of a shard, by second (0 to 59), as {@link momentsOf} reads them. */
export type Moments = ReadonlyMap<number, Uint8Array>;

/** The moments of a row that is not there. */
export const NO_MOMENTS: Moments = new Map();

/** A second in microseconds. */
export const SECOND = 1_000_000;
const SECONDS = 60;

/**
 * Most bytes of a second: 60 of them stay within a row's 1 MiB. A frame takes about 10 where the shard has few
 * categories, so that is more than a thousand frames a second in one shard; with 750 categories some 150. A second that has more is crowded: its event rows say what was in it.
 */
const MOST_SECOND_BYTES = 16_000;
// No moment is so short.
const CROWDED = Uint8Array.of(0);
const isCrowded = (bytes: Uint8Array): boolean => bytes.length === CROWDED.length && bytes[0] === CROWDED[0];

const secondProperty = (second: number): string => `s${twoDigits(second)}`;
/** The second (0 to 59) that a microsecond of the minute is in. */
export const secondOf = (at: number): number => Math.floor(at / SECOND);

const secondsBetween = (from: number, to: number): readonly number[] =>
  Array.from({ length: secondOf(to) - secondOf(from) + 1 }, (_, index) => secondOf(from) + index);

/** The properties to read for a part of the minute, both ends included; in microseconds into it. */
export const momentProperties = (from: number, to: number): readonly string[] =>
  secondsBetween(from, to).map(secondProperty);

/**
 * A row, or the part of it that was read → its moments.
 *
 * @throws {TypeError} where the row is not what {@link momentsWrite} writes
 */
export const momentsFrom = (properties: Readonly<Record<string, unknown>>): Moments => {
  const moments = new Map<number, Uint8Array>();
  for (let second = 0; second < SECONDS; second += 1) {
    const bytes = properties[secondProperty(second)];
    if (bytes === undefined) continue;
    if (!(bytes instanceof Uint8Array)) throw new TypeError('a stored minute is damaged');
    moments.set(second, bytes);
  }
  return moments;
};

/** In this order moments are stored, each once. */
const numberOf = ({ at, place }: { at: number; place: number }): number => at * MAX_CAMERAS_PER_SHARD + place;

const readSecond = (second: number, bytes: Uint8Array): readonly StoredMoment[] => {
  const moments: StoredMoment[] = [];
  const reader = new ByteReader(bytes);
  let before = -1;
  for (let at = second * SECOND; !reader.done;) {
    at += reader.count();
    const moment = { at, place: reader.count(), tally: passTally(reader) };
    if (secondOf(at) !== second || numberOf(moment) <= before) throw new TypeError('a stored minute is damaged');
    before = numberOf(moment);
    moments.push(moment);
  }
  return moments;
};

const writeSecond = (second: number, moments: readonly StoredMoment[]): Uint8Array => {
  const writer = new ByteWriter();
  let before = second * SECOND;
  for (const { at, place, tally } of moments) {
    writer.count(at - before);
    writer.count(place);
    writer.raw(tally);
    before = at;
  }
  return writer.length > MOST_SECOND_BYTES ? CROWDED : writer.bytes();
};

/**
 * The moments of a part of the minute, both ends included, ascending.
 *
 * @param from microseconds into the minute
 * @param to likewise
 * @returns undefined where one of its seconds is crowded: look at the event rows instead
 * @throws {TypeError} where the bytes are not what {@link addMoments} makes
 */
export const momentsOf = (moments: Moments, from: number, to: number): readonly StoredMoment[] | undefined => {
  const found: StoredMoment[] = [];
  for (const second of secondsBetween(from, to)) {
    const bytes = moments.get(second);
    if (bytes === undefined) continue;
    if (isCrowded(bytes)) return undefined;
    for (const moment of readSecond(second, bytes)) if (moment.at >= from && moment.at <= to) found.push(moment);
  }
  return found;
};

/**
 * The moments with differences added.
 *
 * @param categories the shard's list of categories with those of the differences in it
 * @throws {WriteConflict} where the list is older than the row
 */
export const addMoments = (before: Moments, differences: readonly Moment[], categories: readonly string[]): Moments => {
  const places = placesOf(categories);
  const after = new Map(before);
  for (const [second, more] of grouped(differences, ({ at }) => secondOf(at))) {
    const bytes = before.get(second);
    if (bytes !== undefined && isCrowded(bytes)) continue;
    const moments = new Map<number, StoredMoment>();
    for (const moment of bytes === undefined ? [] : readSecond(second, bytes)) moments.set(numberOf(moment), moment);
    for (const { at, place, tally: difference } of more) {
      const stored = moments.get(numberOf({ at, place }));
      const known = stored && readTally(new ByteReader(stored.tally), categories);
      if (stored !== undefined && known === undefined) {
        throw new WriteConflict('a row was read after another writer changed the total');
      }
      const writer = new ByteWriter();
      writeTally(writer, known === undefined ? difference : plus(known, difference), places);
      moments.set(numberOf({ at, place }), { at, place, tally: writer.bytes() });
    }
    const sorted = [...moments].sort(([left], [right]) => left - right).map(([, moment]) => moment);
    after.set(second, writeSecond(second, sorted));
  }
  return after;
};

/**
 * Writes the seconds of a minute that differences were added to; `etag` undefined: there is no row yet.
 *
 * @param minute minute of the day, 0 to 1439
 */
export const momentsWrite = (
  minute: number,
  etag: string | undefined,
  moments: Moments,
  differences: readonly Moment[],
): RowWrite => {
  const properties: Record<string, PropertyValue> = {};
  for (const second of new Set(differences.map(({ at }) => secondOf(at)))) {
    const bytes = moments.get(second);
    if (bytes !== undefined) properties[secondProperty(second)] = bytes;
  }
  return writeOf(minuteKey(minute), etag, properties);
};
