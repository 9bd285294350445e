import { addTo, sumOf, type Tally } from '../model/tally.ts';
import { ByteReader } from '../rows/bytes.ts';
import { DecodeError } from '../rows/damaged-row.ts';
import { twoDigits } from '../rows/keys.ts';
import { overflowedSecondsOf, samplesOf, SECOND, secondOf, type MinuteRow } from '../rows/minute-row.ts';
import { readTally } from '../rows/tally-bytes.ts';
import { DAMAGED, decodedOr, tallyText, type Findings, type Stored } from './findings.ts';
import type { CountedEvent } from './stored-rows.ts';
import { nameIn, type Names } from './stored-sums.ts';

/** A minute row of a stripe, with the names of the indexes in it. */
export interface NamedMinuteRow {
  readonly names: Names;
  readonly row: MinuteRow;
}

const sampleText = (sample: string, tally: Stored<Tally>): string => `${sample} (${tallyText(tally)})`;

/** A sample without its tally, in words. */
const nameOf = (microsecond: number, cameraId: string): string =>
  `${String(microsecond % SECOND).padStart(6, '0')} µs ${cameraId}`;

/** A minute of the day, 0 to 1439, as findings name it: `08:15`. */
export const clockOf = (minute: number): string => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`;

/** The samples that the events of a second make, in words. */
const expectedInWords = (events: readonly CountedEvent[]): ReadonlySet<string> => {
  const words = new Set<string>();
  for (const [name, own] of Map.groupBy(events, ({ microsecond, cameraId }) => nameOf(microsecond, cameraId))) {
    words.add(sampleText(name, sumOf(own.map(({ contribution }) => contribution))));
  }
  return words;
};

/** The stored samples of a second in words; undefined where it has overflowed in a stripe: readers then use its event rows. */
const storedInWords = (rows: readonly NamedMinuteRow[], second: number): ReadonlySet<string> | undefined => {
  const sums = new Map<string, Tally>();
  const damaged = new Set<string>();
  for (const { names, row } of rows) {
    const samples = samplesOf(row, second * SECOND, (second + 1) * SECOND - 1);
    if (samples === undefined) return undefined;
    for (const { microsecond, cameraIndex, tally } of samples) {
      const name = nameOf(microsecond, nameIn(names, cameraIndex));
      const named = readTally(new ByteReader(tally), names.categories);
      if (named === undefined) damaged.add(sampleText(name, DAMAGED));
      else addTo(sums, name, named);
    }
  }
  return new Set([...damaged, ...Array.from(sums, ([name, tally]) => sampleText(name, tally))]);
};

/**
 * Compares the samples of a minute with its events, second by second.
 *
 * @param clock the minute, `08:15`
 * @param rows of all stripes
 */
export const compareSamples = (
  findings: Findings,
  clock: string,
  events: readonly CountedEvent[],
  rows: readonly (NamedMinuteRow | typeof DAMAGED)[],
): void => {
  const stored = rows.filter((row) => row !== DAMAGED);
  if (stored.length < rows.length) {
    findings.add(`samples of minute ${clock}`, 'samples', DAMAGED);
    return;
  }
  const bySecond = Map.groupBy(events, ({ microsecond }) => secondOf(microsecond));
  const seconds = new Set([...bySecond.keys(), ...stored.flatMap(({ row }) => [...row.keys()])]);
  for (const second of [...seconds].sort((left, right) => left - right)) {
    const counter = `samples of second ${clock}:${twoDigits(second)}`;
    const expected = expectedInWords(bySecond.get(second) ?? []);
    const found = decodedOr(() => storedInWords(stored, second));
    if (found === DAMAGED) findings.add(counter, `${expected.size}`, DAMAGED);
    else if (found !== undefined) findings.names(counter, expected, found);
  }
};

/**
 * The events of a minute (of the day) of a closed day as its samples say: a sample stands for its events. Those of the seconds that
 * have overflowed in any stripe are taken from the event rows that are left.
 *
 * @param rows of all stripes
 */
export const eventsOfSamples = (
  findings: Findings,
  minute: number,
  left: readonly CountedEvent[],
  rows: readonly (NamedMinuteRow | typeof DAMAGED)[],
): readonly CountedEvent[] => {
  const overflowed = new Set(rows.flatMap((row) => (row === DAMAGED ? [] : overflowedSecondsOf(row.row))));
  const events = left.filter(({ microsecond }) => overflowed.has(secondOf(microsecond)));
  for (const row of rows) {
    const own = row === DAMAGED ? DAMAGED : decodedOr(() => eventsIn(minute, row, overflowed));
    if (own === DAMAGED) findings.add(`samples of minute ${clockOf(minute)}`, 'samples', DAMAGED);
    else events.push(...own);
  }
  return events;
};

/** The events that the samples of a row stand for, without those of some seconds. @throws {DecodeError} */
const eventsIn = (
  minute: number,
  { names, row }: NamedMinuteRow,
  overflowed: ReadonlySet<number>,
): readonly CountedEvent[] => {
  const others = new Map([...row].filter(([second]) => !overflowed.has(second)));
  const samples = samplesOf(others, 0, 60 * SECOND - 1) ?? [];
  return samples.map(({ microsecond, cameraIndex, tally }) => {
    const contribution = readTally(new ByteReader(tally), names.categories);
    if (contribution === undefined) throw new DecodeError('a sample has a category that the total lacks');
    return { cameraId: nameIn(names, cameraIndex), minute, microsecond, contribution };
  });
};
