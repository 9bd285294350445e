import { addTo, type Tally } from '../model/tally.ts';
import { ByteReader } from '../rows/bytes.ts';
import { twoDigits } from '../rows/keys.ts';
import { samplesOf, SECOND, secondOf, type MinuteRow } from '../rows/minute-row.ts';
import { readTally } from '../rows/tally-bytes.ts';
import type { TotalRow } from '../rows/total-row.ts';
import { DAMAGED, decodedOr, tallyText, type Findings, type Stored } from './findings.ts';

const SECONDS = Array.from({ length: 60 }, (_, second) => second);

/** The samples that a minute should have: what its events count, by microsecond of the minute and camera. */
export class ExpectedSamples {
  readonly #tallies = new Map<number, Map<string, Tally>>();

  /** Adds an event. */
  add(microsecond: number, cameraId: string, contribution: Tally): void {
    const byCamera = this.#tallies.get(microsecond) ?? new Map<string, Tally>();
    addTo(byCamera, cameraId, contribution);
    this.#tallies.set(microsecond, byCamera);
  }

  /** The samples in words, by second. */
  inWords(): ReadonlyMap<number, ReadonlySet<string>> {
    const seconds = new Map<number, Set<string>>();
    for (const [microsecond, byCamera] of this.#tallies) {
      const second = secondOf(microsecond);
      const words = seconds.get(second) ?? new Set();
      for (const [cameraId, tally] of byCamera) words.add(sampleText(microsecond, cameraId, tally));
      seconds.set(second, words);
    }
    return seconds;
  }
}

const sampleText = (microsecond: number, cameraId: string, tally: Stored<Tally>): string =>
  `${String(microsecond % SECOND).padStart(6, '0')} µs ${cameraId} (${tallyText(tally)})`;

/** The samples of a second in words; undefined where it has overflowed: readers then use its event rows. */
const storedInWords = (
  row: MinuteRow,
  second: number,
  ids: readonly string[],
  categories: readonly string[],
): ReadonlySet<string> | undefined => {
  const stored = samplesOf(row, second * SECOND, (second + 1) * SECOND - 1);
  return (
    stored &&
    new Set(
      stored.map(({ microsecond, cameraIndex, tally }) =>
        sampleText(microsecond, nameIn(ids, cameraIndex), readTally(new ByteReader(tally), categories) ?? DAMAGED),
      ),
    )
  );
};

/** The camera with an index in a shard's camera list, or the index where the list is shorter. */
export const nameIn = (ids: readonly string[] | undefined, index: number): string => ids?.[index] ?? `(index ${index})`;

/**
 * Compares the samples of a minute with its events, second by second.
 *
 * @param clock the minute, `08:15`
 */
export const compareSamples = (
  findings: Findings,
  clock: string,
  expected: ExpectedSamples,
  stored: Stored<MinuteRow>,
  total: TotalRow,
): void => {
  if (stored === DAMAGED) {
    findings.add(`samples of minute ${clock}`, 'samples', DAMAGED);
    return;
  }
  const expectedInWords = expected.inWords();
  const categories = [...total.tally.categories.keys()];
  for (const second of SECONDS) {
    const counter = `samples of second ${clock}:${twoDigits(second)}`;
    const words = expectedInWords.get(second) ?? new Set();
    const found =
      stored === undefined
        ? new Set<string>()
        : decodedOr(() => storedInWords(stored, second, total.cameras.ids, categories));
    if (found === DAMAGED) findings.add(counter, `${words.size}`, DAMAGED);
    else if (found !== undefined && words.size + found.size > 0) findings.names(counter, words, found);
  }
};
