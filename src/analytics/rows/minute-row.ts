import { DecodeError, decodingRow } from '../../storage/errors.ts';
import { type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import { plus, type Tally } from '../model/tally.ts';
import { indexesOf, MAX_CAMERAS_PER_SHARD } from './bitset.ts';
import { minuteKey } from './keys.ts';
import { numberedBytes, numberedName, readNumberedBytes } from './properties.ts';
import type { RowRequest } from './stripes.ts';
import { ByteReader, ByteWriter, encoded, readTally, writeTally } from './tally-bytes.ts';

/** What one camera sent at one microsecond. */
export interface Sample<Counts = Tally> {
  /** Of the minute, 0 to 59,999,999. */
  readonly microsecond: number;
  /** The camera's index in the shard's camera list. */
  readonly cameraIndex: number;
  readonly tally: Counts;
}

/** A sample with its tally as `readTally` reads it. */
export type StoredSample = Sample<Uint8Array>;

/** A `minute|0815|30` row: the samples of each second of half a minute that has events, as {@link samplesOf} reads them. */
export type MinuteRow = ReadonlyMap<number, Uint8Array>;

export const NO_SAMPLES: MinuteRow = new Map();

/** A second in microseconds. */
export const SECOND = 1_000_000;
const SECONDS = 60;
const SAMPLES = 'second_';

/**
 * Most bytes of a second: the 30 seconds of a row stay within a third of its 1 MiB. A frame takes 5 to 8 bytes in a shard with few
 * categories, so a second holds more than 1,200 frames, six times the top of the field. A second with more has overflowed: its samples are dropped, and readers
 * use its event rows.
 */
const MAX_SECOND_BYTES = 10_000;
// Shorter than any sample.
const OVERFLOWED = Uint8Array.of(0);
const isOverflowed = (bytes: Uint8Array): boolean => bytes.length === 1 && bytes[0] === 0;

/** The second (0 to 59) of a microsecond of the minute. */
export const secondOf = (microsecond: number): number => Math.floor(microsecond / SECOND);

const secondsBetween = (from: number, to: number): readonly number[] =>
  Array.from({ length: secondOf(to) - secondOf(from) + 1 }, (_, index) => secondOf(from) + index);

/** The rows that hold the samples between two microseconds of a minute of the day, both included: keys, and properties to read. */
export const sampleRows = (minute: number, from: number, to: number): readonly RowRequest[] =>
  Array.from(
    Map.groupBy(secondsBetween(from, to), (second) => minuteKey(minute, second)),
    ([key, seconds]) => ({ key, select: seconds.map((second) => numberedName(SAMPLES, second)) }),
  );

export const minuteRowFrom = (row: StoredRow): MinuteRow =>
  decodingRow(row, () => readNumberedBytes(SAMPLES, SECONDS, row.properties));

/** The order in which samples are stored: each camera once at a microsecond. */
const orderOf = ({ microsecond, cameraIndex }: Pick<Sample, 'microsecond' | 'cameraIndex'>): number =>
  microsecond * MAX_CAMERAS_PER_SHARD + cameraIndex;

const readSecond = (second: number, bytes: Uint8Array): readonly StoredSample[] => {
  const samples: StoredSample[] = [];
  const reader = new ByteReader(bytes);
  let before = -1;
  for (let microsecond = second * SECOND; !reader.done;) {
    microsecond += reader.count();
    const sample = { microsecond, cameraIndex: reader.count(), tally: reader.tally() };
    if (secondOf(microsecond) !== second) throw new DecodeError('a sample is outside its second');
    if (sample.cameraIndex >= MAX_CAMERAS_PER_SHARD) throw new DecodeError('the index of a camera is too large');
    if (orderOf(sample) <= before) throw new DecodeError('samples are not in order');
    before = orderOf(sample);
    samples.push(sample);
  }
  return samples;
};

const writeSecond = (second: number, samples: readonly StoredSample[]): Uint8Array => {
  const writer = new ByteWriter();
  let before = second * SECOND;
  for (const { microsecond, cameraIndex, tally } of samples) {
    writer.count(microsecond - before);
    writer.count(cameraIndex);
    writer.raw(tally);
    before = microsecond;
  }
  return writer.length > MAX_SECOND_BYTES ? OVERFLOWED : writer.bytes();
};

/**
 * The samples between two microseconds of the minute, both included, ascending.
 *
 * @param without seconds to leave out: at least the overflowed seconds, whose event rows have the data
 */
export const samplesOf = (
  row: MinuteRow,
  from: number,
  to: number,
  without: ReadonlySet<number> = new Set(),
): readonly StoredSample[] => {
  const samples: StoredSample[] = [];
  for (const second of secondsBetween(from, to)) {
    const bytes = row.get(second);
    if (bytes === undefined || without.has(second)) continue;
    if (isOverflowed(bytes)) throw new RangeError('a second that has overflowed has no samples');
    for (const sample of readSecond(second, bytes)) {
      if (sample.microsecond >= from && sample.microsecond <= to) samples.push(sample);
    }
  }
  return samples;
};

/** The seconds of a row (0 to 59) that have overflowed. */
export const overflowedSecondsOf = (row: MinuteRow): readonly number[] =>
  [...row].flatMap(([second, bytes]) => (isOverflowed(bytes) ? [second] : []));

/**
 * A row with differences added.
 *
 * @param categories the shard's categories, including the categories of the differences
 * @returns undefined if the categories were read before the row was written
 */
export const addSamples = (
  row: MinuteRow,
  differences: readonly Sample[],
  categories: readonly string[],
): MinuteRow | undefined => {
  const indexes = indexesOf(categories);
  const after = new Map(row);
  for (const [second, added] of Map.groupBy(differences, ({ microsecond }) => secondOf(microsecond))) {
    const bytes = row.get(second);
    if (bytes !== undefined && isOverflowed(bytes)) continue;
    const samples = new Map<number, StoredSample>();
    for (const sample of bytes === undefined ? [] : readSecond(second, bytes)) samples.set(orderOf(sample), sample);
    for (const difference of added) {
      const order = orderOf(difference);
      const stored = samples.get(order);
      const before = stored && readTally(new ByteReader(stored.tally), categories);
      if (stored !== undefined && before === undefined) return undefined;
      const tally = before === undefined ? difference.tally : plus(before, difference.tally);
      samples.set(order, { ...difference, tally: encoded((writer) => writeTally(writer, tally, indexes)) });
    }
    const sorted = [...samples].sort(([left], [right]) => left - right).map(([, sample]) => sample);
    after.set(second, writeSecond(second, sorted));
  }
  return after;
};

/** Writes the seconds of a row that differences were added to; `etag` undefined: the row is not stored yet. */
export const minuteRowWrite = (
  rowKey: string,
  etag: string | undefined,
  row: MinuteRow,
  differences: readonly Pick<Sample, 'microsecond'>[],
): StoringWrite => {
  const seconds = new Set(differences.map(({ microsecond }) => secondOf(microsecond)));
  return writeOf(
    rowKey,
    etag,
    numberedBytes(SAMPLES, seconds, (second) => row.get(second)),
  );
};
