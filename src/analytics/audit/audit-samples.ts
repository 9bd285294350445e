import { DAMAGED, readable, tallyText, type Findings, type Stored } from './audit-findings.ts';
import { ByteReader } from '../rows/byte-stream.ts';
import { momentsOf, SECOND, secondOf, type Moments } from '../rows/minute-row.ts';
import { readTally } from '../rows/tally-bytes.ts';
import { addTo, type Tally } from '../model/tally.ts';
import type { ShardTotal } from '../rows/total-row.ts';
import { twoDigits } from '../rows/two-digits.ts';

const SECONDS = Array.from({ length: 60 }, (_, second) => second);

/** What the events of a minute count, by microsecond into it and by camera. */
export class ExpectedMoments {
  readonly #tallies = new Map<number, Map<string, Tally>>();

  /** Adds an event. */
  add(at: number, cameraId: string, contribution: Tally): void {
    const byCamera = this.#tallies.get(at) ?? new Map<string, Tally>();
    addTo(byCamera, cameraId, contribution);
    this.#tallies.set(at, byCamera);
  }

  /** By second, each moment in words. */
  inWords(): ReadonlyMap<number, ReadonlySet<string>> {
    const seconds = new Map<number, Set<string>>();
    for (const [at, byCamera] of this.#tallies) {
      const second = secondOf(at);
      const words = seconds.get(second) ?? new Set();
      for (const [cameraId, tally] of byCamera) words.add(momentText(at, cameraId, tally));
      seconds.set(second, words);
    }
    return seconds;
  }
}

const momentText = (at: number, cameraId: string, tally: Stored<Tally>): string =>
  `${String(at % SECOND).padStart(6, '0')} µs ${cameraId} (${tallyText(tally)})`;

/** The moments of a second in words; undefined where it is crowded: then its events are what is read. */
const storedInWords = (
  moments: Moments,
  second: number,
  ids: readonly string[],
  categories: readonly string[],
): ReadonlySet<string> | undefined => {
  const stored = momentsOf(moments, second * SECOND, (second + 1) * SECOND - 1);
  return (
    stored &&
    new Set(
      stored.map(({ at, place, tally }) =>
        momentText(at, ids[place] ?? `(place ${place})`, readTally(new ByteReader(tally), categories) ?? DAMAGED),
      ),
    )
  );
};

/**
 * Compares the moments of a minute with its events, second by second.
 *
 * @param clock the minute, `08:15`
 */
export const compareMoments = (
  findings: Findings,
  clock: string,
  expected: ExpectedMoments,
  stored: Stored<Moments>,
  total: ShardTotal,
): void => {
  if (stored === DAMAGED) {
    findings.add(`moments of minute ${clock}`, 'moments', DAMAGED);
    return;
  }
  const expectedInWords = expected.inWords();
  const categories = [...total.tally.categories.keys()];
  for (const second of SECONDS) {
    const counter = `moments of second ${clock}:${twoDigits(second)}`;
    const words = expectedInWords.get(second) ?? new Set();
    const found =
      stored === undefined
        ? new Set<string>()
        : readable(() => storedInWords(stored, second, total.cameras.ids, categories));
    if (found === DAMAGED) findings.add(counter, `${words.size}`, DAMAGED);
    else if (found !== undefined && words.size + found.size > 0) findings.names(counter, words, found);
  }
};
