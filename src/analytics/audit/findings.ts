import { DamagedRow, DecodeError } from '../../storage/errors.ts';
import { EMPTY_TALLY, minus, type Tally } from '../model/tally.ts';

/** Rows that a repair sets aside: one row, or all counter rows of a stripe whose total does not name what is in them. */
export type DamagedRows =
  { readonly of: 'row'; readonly rowKey: string } | { readonly of: 'stripe'; readonly stripe: number };

/** What a repair does about a difference that is not one of figures. */
export type Remedy =
  | { readonly kind: 'set aside'; readonly rows: readonly DamagedRows[] }
  /** The shard's fence and its first total say this number of stripes. */
  | { readonly kind: 'stripes'; readonly stripes: number }
  /** The day's manifest says this number of shards. */
  | { readonly kind: 'shards'; readonly shards: number }
  /** The events of a camera are recorded in the shard that the manifest gives it, and set aside here. */
  | { readonly kind: 'move'; readonly cameraId: string };

/** What differs from what the event rows say. */
export interface Difference {
  /** undefined: in the day's manifest, which says how many shards there are. */
  readonly shard: number | undefined;
  /** Which counter or row: `total`, `hour 08`, `minute 08:15`, `camera ridge-04`, `row camera|ridge-04`, … */
  readonly counter: string;
  /** What the event rows say. */
  readonly expected: string;
  readonly stored: string;
  /** undefined: figures, to which the difference is added. */
  readonly remedy?: Remedy;
}

/** What is damaged, in words. Any other error is thrown again: it is a bug, or storage failed. */
export const damageIn = (error: unknown): string => {
  if (error instanceof DamagedRow || error instanceof DecodeError) return error.message;
  throw error;
};

/** What a function decodes; undefined if it cannot be decoded. */
export const decodedOr = <Value>(decode: () => Value, damaged: (damage: string) => void): Value | undefined => {
  try {
    return decode();
  } catch (error) {
    damaged(damageIn(error));
    return undefined;
  }
};

/** A tally in words. */
const tallyText = (tally: Tally | undefined): string => {
  if (tally === undefined) return 'nothing';
  const categories = [...tally.categories]
    .map(([name, c]) => `${name} ${c.detections}/${c.reviewed}/${c.annotations}`)
    .sort();
  return [`${tally.events} events, ${tally.reviewed} reviewed, ${tally.annotated} annotated`, ...categories].join('; ');
};

/**
 * What must be added to a stored tally; undefined: nothing. A category that was ever counted stays, so one that is missing is
 * added with zeros; one that is stored with zeros and that no event has any more is right.
 */
const differenceOf = (expected: Tally = EMPTY_TALLY, stored: Tally = EMPTY_TALLY): Tally | undefined => {
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

const setText = (names: ReadonlySet<string>, others: readonly string[]): string =>
  others.length === 0 ? `${names.size}` : `${names.size}, among them ${others.join(', ')}`;

const hasEvents = (tally: Tally | undefined): boolean => tally !== undefined && tally.events !== 0;

/** Subtracts stored figures from expected ones, and keeps what is left, in words. */
export class Findings {
  readonly differences: Difference[] = [];
  readonly #shard: number;
  readonly #damaged = new Set<string>();
  /** Counters compared so far. */
  compared = 0;

  constructor(shard: number) {
    this.#shard = shard;
  }

  /** What must be added to a tally; undefined: nothing. */
  tally(counter: string, expected: Tally | undefined, stored: Tally | undefined): Tally | undefined {
    if (hasEvents(expected) || hasEvents(stored)) this.compared += 1;
    const left = differenceOf(expected, stored);
    if (left !== undefined) this.add(counter, tallyText(expected), tallyText(stored));
    return left;
  }

  /**
   * The names that must be added to a set.
   *
   * @param naming the rows that name some which are too many: nothing is taken out of a set, so they are set aside
   */
  names(
    counter: string,
    expected: ReadonlySet<string>,
    stored: ReadonlySet<string>,
    naming: (extra: ReadonlySet<string>) => readonly DamagedRows[],
  ): readonly string[] {
    if (expected.size + stored.size > 0) this.compared += 1;
    const [missing, extra] = [lacking(expected, stored), lacking(stored, expected)];
    if (missing.length + extra.length > 0) {
      const remedy: Remedy | undefined =
        extra.length === 0 ? undefined : { kind: 'set aside', rows: naming(new Set(extra)) };
      this.add(counter, setText(expected, missing), setText(stored, extra), remedy);
    }
    return missing;
  }

  /** Rows that cannot be decoded, or that should not be there: each once, however often it is met. */
  damaged(rowKey: string, damage: string, rows: DamagedRows = { of: 'row', rowKey }): void {
    this.#addOnce({
      shard: this.#shard,
      counter: `row ${rowKey}`,
      expected: 'a row that can be decoded',
      stored: damage,
      remedy: { kind: 'set aside', rows: [rows] },
    });
  }

  /** Keeps a difference that was found without a subtraction. */
  add(counter: string, expected: string, stored: string, remedy?: Remedy): void {
    this.differences.push({ shard: this.#shard, counter, expected, stored, ...(remedy && { remedy }) });
  }

  /** Takes over what others found. */
  takeOver({ differences, compared }: Findings): void {
    for (const difference of differences) {
      if (difference.counter.startsWith('row ')) this.#addOnce(difference);
      else this.differences.push(difference);
    }
    this.compared += compared;
  }

  #addOnce(difference: Difference): void {
    if (this.#damaged.has(difference.counter)) return;
    this.#damaged.add(difference.counter);
    this.differences.push(difference);
  }
}
