import { sumOf, type Tally } from '../model/tally.ts';
import { ByteReader } from '../rows/bytes.ts';
import { twoDigits } from '../rows/keys.ts';
import { samplesOf, SECOND, secondOf, type MinuteRow } from '../rows/minute-row.ts';
import { readTally } from '../rows/tally-bytes.ts';
import type { TotalRow } from '../rows/total-row.ts';
import { DAMAGED, decodedOr, tallyText, type Findings, type Stored } from './findings.ts';
import type { CountedEvent } from './stored-rows.ts';

const sampleText = (microsecond: number, cameraId: string, tally: Stored<Tally>): string =>
  `${String(microsecond % SECOND).padStart(6, '0')} µs ${cameraId} (${tallyText(tally)})`;

/** The samples that the events of a second make, in words. */
const expectedInWords = (events: readonly CountedEvent[]): ReadonlySet<string> => {
  const words = new Set<string>();
  for (const [microsecond, simultaneous] of Map.groupBy(events, (event) => event.microsecond)) {
    for (const [cameraId, own] of Map.groupBy(simultaneous, (event) => event.cameraId)) {
      words.add(sampleText(microsecond, cameraId, sumOf(own.map(({ contribution }) => contribution))));
    }
  }
  return words;
};

/** The stored samples of a second in words; undefined where it has overflowed: readers then use its event rows. */
const storedInWords = (
  row: MinuteRow,
  second: number,
  { tally, cameras }: TotalRow,
): ReadonlySet<string> | undefined => {
  const categories = [...tally.categories.keys()];
  const samples = samplesOf(row, second * SECOND, (second + 1) * SECOND - 1)?.map((sample) => {
    const named = readTally(new ByteReader(sample.tally), categories) ?? DAMAGED;
    return sampleText(sample.microsecond, nameIn(cameras.ids, sample.cameraIndex), named);
  });
  return samples && new Set(samples);
};

/** The camera with an index in a shard's camera list, or the index where the list is shorter. */
export const nameIn = (ids: readonly string[] | undefined, index: number): string => ids?.[index] ?? `(index ${index})`;

/**
 * Compares the samples of a minute with its events, second by second.
 *
 * @param clock the minute, `08:15`
 * @param total names the indexes of cameras and categories
 */
export const compareSamples = (
  findings: Findings,
  clock: string,
  events: readonly CountedEvent[],
  stored: MinuteRow | typeof DAMAGED,
  total: TotalRow,
): void => {
  if (stored === DAMAGED) {
    findings.add(`samples of minute ${clock}`, 'samples', DAMAGED);
    return;
  }
  const bySecond = Map.groupBy(events, ({ microsecond }) => secondOf(microsecond));
  for (const second of [...new Set([...bySecond.keys(), ...stored.keys()])].sort((left, right) => left - right)) {
    const counter = `samples of second ${clock}:${twoDigits(second)}`;
    const expected = expectedInWords(bySecond.get(second) ?? []);
    const found = decodedOr(() => storedInWords(stored, second, total));
    if (found === DAMAGED) findings.add(counter, `${expected.size}`, DAMAGED);
    else if (found !== undefined) findings.names(counter, expected, found);
  }
};
