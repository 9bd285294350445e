import { hourOfMinute } from '../model/day.ts';
import { addTo, EMPTY_TALLY, minus, plus, type Tally } from '../model/tally.ts';
import { CounterDifferences } from '../record/counter-differences.ts';
import { cameraKey, hourKey, HOURS_KEY, minuteKey, twoDigits } from '../rows/keys.ts';
import { SECOND, secondOf } from '../rows/minute-row.ts';

/**
 * A counter of a shard's day: of all cameras or of one, for the day, an hour or a minute of it. What one camera sent at one microsecond is
 * a sample.
 */
export interface Counter {
  readonly cameraId?: string | undefined;
  /** Of the day, 0 to 23. */
  readonly hour?: number;
  /** Of the day, 0 to 1439. Its hour is not said. */
  readonly minute?: number | undefined;
  /** Of the minute, 0 to 59,999,999; only of a sample. */
  readonly microsecond?: number;
}

/** The name of a counter in reports: `total`, `hour 08`, `minute 08:15`, `camera ridge-04 hour 08`, … */
export const nameOf = ({ cameraId, hour, minute, microsecond }: Counter): string => {
  const clock = minute === undefined ? '' : `${twoDigits(hourOfMinute(minute))}:${twoDigits(minute % 60)}`;
  if (microsecond !== undefined) {
    const fraction = String(microsecond % SECOND).padStart(6, '0');
    return `sample ${clock}:${twoDigits(secondOf(microsecond))}.${fraction} of ${cameraId}`;
  }
  const names = [
    ...(cameraId === undefined ? [] : [`camera ${cameraId}`]),
    ...(hour === undefined ? [] : [`hour ${twoDigits(hour)}`]),
    ...(minute === undefined ? [] : [`minute ${clock}`]),
  ];
  return names.join(' ') || 'total';
};

/** A name for the row that a counter is in; `total` and `hours`, which every commit writes, have one together. */
export const rowOf = ({ cameraId, minute, microsecond }: Counter): string => {
  if (microsecond !== undefined) return `minute ${minute}`;
  if (cameraId !== undefined) return `camera ${cameraId}`;
  return minute === undefined ? 'top' : `hour ${hourOfMinute(minute)}`;
};

/** The counters that a minute, of all cameras or of one, is a part of: its day and its hour. Of other counters none. */
export const parentsOf = ({ cameraId, minute, microsecond }: Counter): readonly Counter[] =>
  minute === undefined || microsecond !== undefined ? [] : [{ cameraId }, { cameraId, hour: hourOfMinute(minute) }];

/** The counters whose rows must have what a counter's row names: a category, an hour that has minutes, a minute that has samples. */
const aboveOf = (counter: Counter): readonly Counter[] => {
  const { cameraId, minute, microsecond } = counter;
  return microsecond === undefined ? [{}, { cameraId }, ...parentsOf(counter)] : [{ minute }, ...parentsOf({ minute })];
};

export const NO_CAMERAS: ReadonlySet<string> = new Set();

/** What a row says of a counter. */
export interface StoredEntry {
  readonly rowKey: string;
  readonly counter: Counter;
  readonly tally: Tally;
  /** The active cameras that it names. */
  readonly cameras: ReadonlySet<string>;
}

/** What is left of a counter. */
export interface Left {
  readonly counter: Counter;
  /** What must be added to it. */
  readonly tally: Tally;
  /** The cameras that must be added to its active ones. */
  readonly missing: ReadonlySet<string>;
  /** The cameras that are stored as active and are not. */
  readonly extra: ReadonlySet<string>;
}

/** What differs from what the event rows say. */
export interface Difference {
  /** The name of a counter, or of a row: `row camera|ridge-04`, … */
  readonly counter: string;
  /** What the event rows say. */
  readonly expected: string;
  readonly stored: string;
  /** The keys of rows that a repair sets aside: they cannot be decoded, or hold what cannot be taken out by adding. */
  readonly aside?: readonly string[];
  /** What else a repair does, in words; undefined: it adds what is left. */
  readonly step?: string;
  /** Of a counter. */
  readonly left?: Left;
}

/** What is left of counters that were compared. */
export interface Subtracted {
  readonly differences: readonly Difference[];
  /** How many counters were compared. */
  readonly compared: number;
}

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

  /** Adds to what is stored of a counter. */
  store({ rowKey, counter, tally, cameras }: StoredEntry): void {
    const sides = this.#of(counter);
    sides.stored = sides.stored === undefined ? tally : plus(sides.stored, tally);
    sides.storedCameras.set(rowKey, cameras);
  }

  result(): Subtracted {
    const differences: Difference[] = [];
    for (const [name, { counter, expected, stored, expectedCameras, storedCameras }] of this.#sides) {
      const tally = differenceOf(expected, stored);
      const cameras = new Set(Array.from(storedCameras.values(), (own) => [...own]).flat());
      const [missing, extra] = [expectedCameras.difference(cameras), cameras.difference(expectedCameras)];
      if (tally === undefined && missing.size + extra.size === 0) continue;
      // Nothing is taken out of a set by adding.
      const aside = [...storedCameras].flatMap(([rowKey, own]) => (own.isDisjointFrom(extra) ? [] : [rowKey]));
      differences.push({
        counter: name,
        expected: textOf(expected, missing),
        stored: textOf(stored, extra),
        ...(aside.length > 0 && { aside }),
        left: { counter, tally: tally ?? EMPTY_TALLY, missing, extra },
      });
    }
    return { differences, compared: this.#sides.size };
  }

  #of(counter: Counter): Sides {
    const name = nameOf(counter);
    const known = this.#sides.get(name);
    if (known !== undefined) return known;
    const sides = { counter, expectedCameras: new Set<string>(), storedCameras: new Map() };
    this.#sides.set(name, sides);
    return sides;
  }
}

/** What is left as the recorder's writer commits it. */
export const differencesFrom = (left: readonly Left[]): CounterDifferences => {
  const into = new CounterDifferences();
  for (const { counter, tally, missing } of left) {
    add(into, counter, tally, missing);
    for (const above of aboveOf(counter)) add(into, above, minus(tally, tally), NO_CAMERAS);
  }
  return into;
};

const add = (into: CounterDifferences, counter: Counter, tally: Tally, active: ReadonlySet<string>): void => {
  const { cameraId, hour, minute, microsecond } = counter;
  if (cameraId === undefined) {
    into.name(active);
    if (minute !== undefined) into.addToBucket(hourKey(hourOfMinute(minute)), minute % 60, tally, active);
    else if (hour !== undefined) into.addToBucket(HOURS_KEY, hour, tally, active);
    else into.day = plus(into.day, tally);
  } else if (minute !== undefined && microsecond !== undefined) {
    into.addSample(minuteKey(minute, secondOf(microsecond)), minute, { microsecond, cameraId, tally });
  } else {
    const camera = into.camera(cameraKey(cameraId), cameraId);
    if (minute !== undefined) addTo(camera.minutes, minute, tally);
    else if (hour !== undefined) addTo(camera.hours, hour, tally);
    else camera.day = plus(camera.day, tally);
  }
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
