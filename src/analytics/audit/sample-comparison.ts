import { addTo, sumOf, type Tally } from '../model/tally.ts';
import { ByteReader } from '../rows/bytes.ts';
import { twoDigits } from '../rows/keys.ts';
import { samplesOf, SECOND, secondOf, type MinuteRow } from '../rows/minute-row.ts';
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
