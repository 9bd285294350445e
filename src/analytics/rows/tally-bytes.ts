import type { CategoryTally, Tally } from '../model/tally.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import { DecodeError } from '../../storage/errors.ts';

// A tally in bytes. A header: twice the number of its categories, plus 1 where its three counts of events follow; without them it
// is of one event, neither reviewed nor annotated, as most frames are. Then each category, ascending by its index in a list that
// is kept elsewhere: eight times the number of indexes left out since the one before, plus a bit for each of its counts that is
// not 0; and those counts. Counts may be negative: a stripe may hold the correction of an event that another one counted.
// A frame without detections takes one byte. Reading throws a DecodeError where the bytes are anything else.
const COUNTS_OF_CATEGORY = 3;
const BITS = [1, 2, 4] as const;

const isOneFrame = ({ events, reviewed, annotated }: Tally): boolean =>
  events === 1 && reviewed === 0 && annotated === 0;

const countsOf = ({ detections, reviewed, annotations }: CategoryTally): readonly number[] => [
  detections,
  reviewed,
  annotations,
];

/** Writes a tally; `indexes` has the index of each category in the list. @throws {RangeError} where a count is too large */
export const writeTally = (writer: ByteWriter, tally: Tally, indexes: ReadonlyMap<string, number>): void => {
  const oneFrame = isOneFrame(tally);
  writer.count(2 * tally.categories.size + (oneFrame ? 0 : 1));
  if (!oneFrame) for (const count of [tally.events, tally.reviewed, tally.annotated]) writer.signed(count);
  const categories = [...tally.categories]
    .map(([category, counts]): readonly [number, readonly number[]] => {
      const index = indexes.get(category);
      if (index === undefined) throw new RangeError('a category is not in the list of categories');
      return [index, countsOf(counts)];
    })
    .sort(([left], [right]) => left - right);
  let next = 0;
  for (const [index, counts] of categories) {
    const present = BITS.filter((_, position) => counts[position] !== 0);
    writer.count(8 * (index - next) + present.reduce<number>((bits, bit) => bits + bit, 0));
    for (const count of counts) if (count !== 0) writer.signed(count);
    next = index + 1;
  }
};

/** What reading a tally calls for its counts. */
interface TallyVisitor {
  readonly events: (events: number, reviewed: number, annotated: number) => void;
  readonly category: (index: number, counts: readonly [number, number, number]) => void;
}

// A day is read sample by sample: nothing here makes a function for each tally.
const visitTally = (reader: ByteReader, visitor: TallyVisitor): void => {
  const header = reader.count();
  if (header % 2 === 0) visitor.events(1, 0, 0);
  else visitor.events(reader.signed(), reader.signed(), reader.signed());
  let next = 0;
  for (let left = Math.floor(header / 2); left > 0; left -= 1) {
    const bits = reader.count();
    const index = next + Math.floor(bits / 8);
    visitor.category(index, [
      (bits & BITS[0]) === 0 ? 0 : reader.signed(),
      (bits & BITS[1]) === 0 ? 0 : reader.signed(),
      (bits & BITS[2]) === 0 ? 0 : reader.signed(),
    ]);
    next = index + 1;
  }
};

const NO_VISITOR: TallyVisitor = { events: () => undefined, category: () => undefined };

// A shard has fewer than 1,000 categories. A greater index is damage, and no reason to make a list of that length.
const MAX_INDEX = 10_000;

/** Adds up stored tallies by the indexes of their categories, which are named last. */
export class TallySum {
  #events = 0;
  #reviewed = 0;
  #annotated = 0;
  /** The three counts of category `n` are at `3 * n`; holes where no tally had the category. */
  readonly #counts: (number | undefined)[] = [];

  readonly #visitor: TallyVisitor = {
    events: (events, reviewed, annotated) => {
      this.#events += events;
      this.#reviewed += reviewed;
      this.#annotated += annotated;
    },
    category: (index, counts) => {
      if (index > MAX_INDEX) throw new DecodeError('the index of a category is too large');
      const first = COUNTS_OF_CATEGORY * index;
      for (const [position, count] of counts.entries()) {
        this.#counts[first + position] = (this.#counts[first + position] ?? 0) + count;
      }
    },
  };

  /** Adds the next tally of a reader. */
  add(reader: ByteReader): void {
    visitTally(reader, this.#visitor);
  }

  /** The sum; undefined where the list lacks a category: it was read before the tallies were written. */
  named(categories: readonly string[]): Tally | undefined {
    if (this.#counts.length > COUNTS_OF_CATEGORY * categories.length) return undefined;
    const named = new Map<string, CategoryTally>();
    for (const [index, category] of categories.entries()) {
      const first = COUNTS_OF_CATEGORY * index;
      const [detections, reviewed, annotations] = this.#counts.slice(first, first + COUNTS_OF_CATEGORY);
      if (detections === undefined || reviewed === undefined || annotations === undefined) continue;
      named.set(category, { detections, reviewed, annotations });
    }
    return { events: this.#events, reviewed: this.#reviewed, annotated: this.#annotated, categories: named };
  }
}

/** Reads a tally; undefined where the list lacks a category: it was read before the tally was written. */
export const readTally = (reader: ByteReader, categories: readonly string[]): Tally | undefined => {
  const sum = new TallySum();
  sum.add(reader);
  return sum.named(categories);
};

/** Skips a tally and returns its bytes. */
export const skipTally = (reader: ByteReader): Uint8Array => {
  const start = reader.position;
  visitTally(reader, NO_VISITOR);
  return reader.since(start);
};

/** Reads how many events a tally has. */
export const readEventCount = (reader: ByteReader): number => {
  let count = 0;
  visitTally(reader, { ...NO_VISITOR, events: (events) => (count = events) });
  return count;
};
