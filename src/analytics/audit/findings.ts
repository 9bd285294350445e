import { EMPTY_TALLY, minus, type Tally } from '../model/tally.ts';
import { DamagedRow, DecodeError } from '../../storage/errors.ts';
import type { Correction, Remedy } from './remedy.ts';

/** A counter that differs from what the event rows say. */
export interface Difference {
  /** undefined: in the day's manifest, which says how many shards there are. */
  readonly shard: number | undefined;
  /** Which counter: `total`, `hour 08`, `minute 08:15`, `camera ridge-04`, `camera ridge-04 minute 08:15`, … */
  readonly counter: string;
  /** What the event rows say. */
  readonly expected: string;
  readonly stored: string;
  readonly remedy: Remedy;
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

/**
 * What must be added to a stored tally; undefined: nothing. A category that was ever counted stays, so one that is missing is
 * added with zeros; one that is stored with zeros and that no event has any more is right.
 */
export const correctionOf = (expected: Tally = EMPTY_TALLY, stored: Tally = EMPTY_TALLY): Tally | undefined => {
  const difference = minus(expected, stored);
  const categories = new Map(
    [...difference.categories].filter(
      ([name, { detections, reviewed, annotations }]) =>
        [detections, reviewed, annotations].some((count) => count !== 0) || !stored.categories.has(name),
    ),
  );
  const { events, reviewed, annotated } = difference;
  const isNothing = [events, reviewed, annotated, categories.size].every((count) => count === 0);
  return isNothing ? undefined : { events, reviewed, annotated, categories };
};

const lacking = (names: ReadonlySet<string>, others: ReadonlySet<string>): readonly string[] =>
  [...names].filter((name) => !others.has(name)).sort();

const setText = (names: ReadonlySet<string>, others: ReadonlySet<string>): string => {
  const own = lacking(names, others);
  return own.length === 0 ? `${names.size}` : `${names.size}, among them ${own.join(', ')}`;
};

const hasEvents = (tally: Tally | undefined): boolean => tally !== undefined && tally.events !== 0;

/** Compares counters of one shard, and keeps the differences. */
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

  /**
   * Compares a tally.
   *
   * @param toCorrection the correction that adds a tally to this counter
   * @returns what must be added to it; undefined: nothing, or its rows are set aside first
   */
  tally(
    counter: string,
    expected: Tally | undefined,
    stored: Stored<Tally>,
    toCorrection: (tally: Tally) => Correction,
  ): Tally | undefined {
    if (stored === DAMAGED || hasEvents(expected) || hasEvents(stored)) this.#compared += 1;
    if (stored === DAMAGED) {
      this.add(counter, tallyText(expected), DAMAGED, { kind: 'none' });
      return undefined;
    }
    const tally = correctionOf(expected, stored);
    if (tally !== undefined) {
      const remedy: Remedy = { kind: 'add', corrections: [toCorrection(tally)] };
      this.add(counter, tallyText(expected), tallyText(stored), remedy);
    }
    return tally;
  }

  /** Compares a set of names. `remedyOf` has the names that are missing and those that are too many. */
  names(
    counter: string,
    expected: ReadonlySet<string>,
    stored: ReadonlySet<string>,
    remedyOf: (missing: readonly string[], extra: readonly string[]) => Remedy,
  ): void {
    if (expected.size + stored.size > 0) this.#compared += 1;
    const [missing, extra] = [lacking(expected, stored), lacking(stored, expected)];
    if (missing.length + extra.length === 0) return;
    this.add(counter, setText(expected, stored), setText(stored, expected), remedyOf(missing, extra));
  }

  /** Compares values in words. */
  text(counter: string, expected: string, stored: string, remedy: Remedy): void {
    this.#compared += 1;
    if (expected !== stored) this.add(counter, expected, stored, remedy);
  }

  /** Keeps a difference that was found without a comparison. */
  add(counter: string, expected: string, stored: string, remedy: Remedy): void {
    this.differences.push({ shard: this.#shard, counter, expected, stored, remedy });
  }

  /** Keeps a difference once, however often it is found. */
  addOnce(counter: string, expected: string, stored: string, remedy: Remedy): void {
    if (!this.differences.some((one) => one.counter === counter)) this.add(counter, expected, stored, remedy);
  }

  /** Takes over what others found. */
  takeOver({ differences, compared }: Findings): void {
    this.differences.push(...differences);
    this.#compared += compared;
  }
}
