import { hourOfMinute } from '../model/day.ts';
import { EMPTY_TALLY, minus, plus, type Tally } from '../model/tally.ts';
import { CounterDifferences } from '../record/counter-differences.ts';
import { twoDigits } from '../rows/keys.ts';
import { SECOND, secondOf } from '../rows/minute-row.ts';

/** A counter of a shard's day. */
export interface Counter {
  /** As reports have it: `total`, `hour 08`, `minute 08:15`, `camera ridge-04`, … */
  readonly name: string;
  /** A name for the row that it is in; `total` and `hours`, which every commit writes, have one together. */
  readonly row: string;
  /** Of a minute, and of a camera's minute: the counters that it is a part of. */
  readonly parents?: () => readonly Counter[];
  /** The counters whose rows must have what this one's row names: a category, an hour that has minutes, a minute that has samples. */
  readonly above: () => readonly Counter[];
  /** Adds what is left of it to a commit. */
  readonly put: (into: CounterDifferences, tally: Tally, missing: readonly string[]) => void;
}

/** The day of all cameras. */
export const daily: Counter = {
  name: 'total',
  row: 'top',
  above: () => [],
  // A camera that the lists lack is missing in the bitset of an hour as well, which is in the same commit.
  put: (into, tally) => into.addToDay(tally),
};

/** An hour (0 to 23) of all cameras. */
export const hourly = (hour: number): Counter => ({
  name: `hour ${twoDigits(hour)}`,
  row: 'top',
  above: () => [daily],
  put: (into, tally, missing) => into.addToHour(hour, tally, missing),
});

/** A minute of the day (0 to 1439) of all cameras. */
export const minutely = (minute: number): Counter => {
  const parents = () => [daily, hourly(hourOfMinute(minute))];
  return {
    name: `minute ${clockOf(minute)}`,
    row: `hour ${hourOfMinute(minute)}`,
    parents,
    above: parents,
    put: (into, tally, missing) => into.addToMinute(minute, tally, missing),
  };
};

/** What one camera sent at one microsecond of a minute. */
export const sampled = (minute: number, microsecond: number, cameraId: string): Counter => {
  const second = `${clockOf(minute)}:${twoDigits(secondOf(microsecond))}`;
  return {
    name: `sample ${second}.${String(microsecond % SECOND).padStart(6, '0')} of ${cameraId}`,
    row: `minute ${minute}`,
    above: () => [daily, hourly(hourOfMinute(minute)), minutely(minute)],
    put: (into, tally) => into.addSample(minute, { microsecond, cameraId, tally }),
  };
};

/** The day of a camera, an hour of it (0 to 23), or a minute of the day (0 to 1439). */
export const ofCamera = (cameraId: string, of: { hour?: number; minute?: number } = {}): Counter => {
  const { hour, minute } = of;
  const row = `camera ${cameraId}`;
  const hourText = hour === undefined ? '' : ` hour ${twoDigits(hour)}`;
  return {
    name: `${row}${minute === undefined ? hourText : ` minute ${clockOf(minute)}`}`,
    row,
    ...(minute !== undefined && {
      parents: () => [ofCamera(cameraId), ofCamera(cameraId, { hour: hourOfMinute(minute) })],
    }),
    above: () => [daily, ofCamera(cameraId)],
    put: (into, tally) => into.addToCamera(cameraId, tally, of),
  };
};

const clockOf = (minute: number): string => `${twoDigits(hourOfMinute(minute))}:${twoDigits(minute % 60)}`;

export const NO_CAMERAS: ReadonlySet<string> = new Set();

/** What differs from what the event rows say. */
export interface Difference {
  /** The name of a counter, or of a row: `row camera|ridge-04`, … */
  readonly counter: string;
  /** What the event rows say. */
  readonly expected: string;
  readonly stored: string;
  /** The keys of rows that a repair sets aside: they cannot be decoded, or hold what cannot be taken out by adding. */
  readonly aside?: readonly string[];
  /** What else a repair does about it; undefined: it adds what is left, or sets rows aside. */
  readonly step?: string;
}

/** What is left of a counter once what is stored is subtracted from what it should be. */
export interface Left {
  readonly counter: Counter;
  readonly tally: Tally;
  /** The cameras that must be added to its active ones. */
  readonly missing: readonly string[];
  /** The cameras that are stored as active and are not. */
  readonly extra: ReadonlySet<string>;
}

/** The two sides of a counter. */
interface Sides {
  readonly counter: Counter;
  expected?: Tally;
  stored?: Tally;
  readonly expectedCameras: Set<string>;
  /** By the key of the row that names them. */
  readonly storedCameras: Map<string, ReadonlySet<string>>;
}

/** Subtracts stored counters, summed over the stripes, from what they should be. */
export class Subtraction {
  readonly #sides = new Map<string, Sides>();

  /** Adds to what a counter should be. */
  expect(counter: Counter, tally: Tally, cameras: ReadonlySet<string> = NO_CAMERAS): void {
    const sides = this.#of(counter);
    sides.expected = sides.expected === undefined ? tally : plus(sides.expected, tally);
    for (const cameraId of cameras) sides.expectedCameras.add(cameraId);
  }

  /** Adds to what is stored of a counter in a row. */
  store(rowKey: string, counter: Counter, tally: Tally, cameras: ReadonlySet<string>): void {
    const sides = this.#of(counter);
    sides.stored = sides.stored === undefined ? tally : plus(sides.stored, tally);
    sides.storedCameras.set(rowKey, cameras);
  }

  /** What differs, what is left, and how many counters were compared. */
  result(): { differences: readonly Difference[]; left: readonly Left[]; compared: number } {
    const differences: Difference[] = [];
    const left: Left[] = [];
    for (const { counter, expected, stored, expectedCameras, storedCameras } of this.#sides.values()) {
      const tally = differenceOf(expected, stored);
      const cameras = new Set(Array.from(storedCameras.values(), (own) => [...own]).flat());
      const [missing, extra] = [expectedCameras.difference(cameras), cameras.difference(expectedCameras)];
      if (tally === undefined && missing.size + extra.size === 0) continue;
      left.push({ counter, tally: tally ?? EMPTY_TALLY, missing: [...missing], extra });
      // Nothing is taken out of a set by adding.
      const aside = [...storedCameras].flatMap(([rowKey, own]) => (own.isDisjointFrom(extra) ? [] : [rowKey]));
      const texts = { expected: textOf(expected, missing), stored: textOf(stored, extra) };
      differences.push({ counter: counter.name, ...texts, ...(aside.length > 0 && { aside }) });
    }
    return { differences, left, compared: this.#sides.size };
  }

  #of(counter: Counter): Sides {
    const known = this.#sides.get(counter.name);
    if (known !== undefined) return known;
    const sides = { counter, expectedCameras: new Set<string>(), storedCameras: new Map() };
    this.#sides.set(counter.name, sides);
    return sides;
  }
}

/** What is left as the recorder's writer commits it. */
export const differencesFrom = (left: readonly Left[]): CounterDifferences => {
  const into = new CounterDifferences();
  for (const { counter, tally, missing } of left) {
    counter.put(into, tally, missing);
    for (const above of counter.above()) above.put(into, minus(tally, tally), []);
  }
  return into;
};

/**
 * What must be added to a stored tally; undefined: nothing. A category that was ever counted stays, so one that is missing is
 * added with zeros; one that is stored with zeros and that no event has any more is right.
 */
const differenceOf = (expected: Tally = EMPTY_TALLY, stored: Tally = EMPTY_TALLY): Tally | undefined => {
  const { events, reviewed, annotated, ...difference } = minus(expected, stored);
  const categories = new Map(
    [...difference.categories].filter(
      ([name, counts]) => Object.values(counts).some((count) => count !== 0) || !stored.categories.has(name),
    ),
  );
  const isNothing = [events, reviewed, annotated, categories.size].every((count) => count === 0);
  return isNothing ? undefined : { events, reviewed, annotated, categories };
};

/** One side in words, with the cameras that are active on this side only. */
const textOf = (tally: Tally | undefined, cameras: ReadonlySet<string>): string => {
  const { events, reviewed, annotated, categories } = tally ?? EMPTY_TALLY;
  const counts = [...categories].map(([name, c]) => `${name} ${c.detections}/${c.reviewed}/${c.annotations}`);
  return [
    tally === undefined ? 'nothing' : `${events} events, ${reviewed} reviewed, ${annotated} annotated`,
    ...counts.sort(),
    ...(cameras.size === 0 ? [] : [`more active cameras: ${[...cameras].sort().join(', ')}`]),
  ].join('; ');
};
