import { sameTally, type Tally } from '../model/tally.ts';
import { DamagedRow, DecodeError } from '../rows/damaged-row.ts';

/** A counter that differs from what the event rows say. */
export interface Difference {
  /** undefined: in the day's manifest, which says how many shards there are. */
  readonly shard: number | undefined;
  /** Which counter: `total`, `hour 08`, `minute 08:15`, `camera ridge-04`, `camera ridge-04 minute 08:15`, … */
  readonly counter: string;
  /** What the event rows say. */
  readonly expected: string;
  readonly stored: string;
}

/** In place of a stored value that cannot be decoded. */
export const DAMAGED = 'damaged';

/** A stored value; undefined: it is missing. */
export type Stored<Value> = Value | undefined | typeof DAMAGED;

/** {@link DAMAGED} for an error that means damage. Any other error is thrown again: it is a bug, or storage failed. */
export const damageOf = (error: unknown): typeof DAMAGED => {
  if (error instanceof DamagedRow || error instanceof DecodeError) return DAMAGED;
  throw error;
};

/** What a function decodes, or {@link DAMAGED}. */
export const decodedOr = <Value>(decode: () => Value): Value | typeof DAMAGED => {
  try {
    return decode();
  } catch (error) {
    return damageOf(error);
  }
};

/** A tally in words. */
export const tallyText = (tally: Stored<Tally>): string => {
  if (tally === undefined) return 'nothing';
  if (tally === DAMAGED) return DAMAGED;
  const categories = [...tally.categories]
    .map(([name, c]) => `${name} ${c.detections}/${c.reviewed}/${c.annotations}`)
    .sort();
  return [`${tally.events} events, ${tally.reviewed} reviewed, ${tally.annotated} annotated`, ...categories].join('; ');
};

// A category that was ever counted stays, so one that is missing is a difference, also where it would have zeros.
const sameInFull = (left: Tally, right: Tally): boolean =>
  sameTally(left, right) &&
  left.categories.size === right.categories.size &&
  [...left.categories.keys()].every((category) => right.categories.has(category));

const lacking = (names: ReadonlySet<string>, others: ReadonlySet<string>): readonly string[] =>
  [...names].filter((name) => !others.has(name)).sort();

const setText = (names: ReadonlySet<string>, others: ReadonlySet<string>): string => {
  const own = lacking(names, others);
  return own.length === 0 ? `${names.size}` : `${names.size}, among them ${own.join(', ')}`;
};

/** Compares the counters of one shard, and keeps the differences. */
export class Findings {
  readonly differences: Difference[] = [];
  readonly #shard: number;
  #compared = 0;

  constructor(shard: number) {
    this.#shard = shard;
  }

  /** Counters compared so far. */
  get compared(): number {
    return this.#compared;
  }

  /** Compares a tally. */
  tally(counter: string, expected: Tally | undefined, stored: Stored<Tally>): void {
    this.#compared += 1;
    const same =
      expected === undefined || stored === undefined || stored === DAMAGED
        ? expected === stored
        : sameInFull(expected, stored);
    if (!same) this.add(counter, tallyText(expected), tallyText(stored));
  }

  /** Compares a set of names. */
  names(counter: string, expected: ReadonlySet<string>, stored: ReadonlySet<string>): void {
    this.text(counter, setText(expected, stored), setText(stored, expected));
  }

  /** Compares values in words. */
  text(counter: string, expected: string, stored: string): void {
    this.#compared += 1;
    if (expected !== stored) this.add(counter, expected, stored);
  }

  /** Keeps a difference that was found without a comparison. */
  add(counter: string, expected: string, stored: string): void {
    this.differences.push({ shard: this.#shard, counter, expected, stored });
  }
}
