import type { CategoryTally, Tally } from '../model/tally.ts';
import { indexesIn, withIndexes } from './bitset.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

// A tally in bytes: events, reviewed, annotated; a bitset of its categories, by their indexes in a list that is kept elsewhere;
// and the three counts of each category. Reading throws a DecodeError where the bytes are anything else.
const COUNTS_OF_CATEGORY = 3;

/** Writes a tally; `indexes` has the index of each category in the list. */
export const writeTally = (writer: ByteWriter, tally: Tally, indexes: ReadonlyMap<string, number>): void => {
  writer.count(tally.events);
  writer.count(tally.reviewed);
  writer.count(tally.annotated);
  const categories = [...tally.categories]
    .map(([category, counts]): [number, CategoryTally] => {
      const index = indexes.get(category);
      if (index === undefined) throw new RangeError('a category is not in the list of categories');
      return [index, counts];
    })
    .sort(([left], [right]) => left - right);
  writer.block(
    withIndexes(
      new Uint8Array(),
      categories.map(([index]) => index),
    ),
  );
  for (const [, counts] of categories) {
    writer.count(counts.detections);
    writer.count(counts.reviewed);
    writer.count(counts.annotations);
  }
};

/** Adds up stored tallies by the indexes of their categories, which are named last. */
export class TallySum {
  #events = 0;
  #reviewed = 0;
  #annotated = 0;
  /** The three counts of category `n` are at `3 * n`; holes where no tally had the category. */
  readonly #counts: (number | undefined)[] = [];

  /** Adds the next tally of a reader. */
  add(reader: ByteReader): void {
    this.#events += reader.count();
    this.#reviewed += reader.count();
    this.#annotated += reader.count();
    for (const index of indexesIn(reader.block())) {
      const first = COUNTS_OF_CATEGORY * index;
      for (let count = first; count < first + COUNTS_OF_CATEGORY; count += 1) {
        this.#counts[count] = (this.#counts[count] ?? 0) + reader.count();
      }
    }
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
export const skipTally = (reader: ByteReader): Uint8Array =>
  reader.over(() => {
    for (let count = 0; count < 3; count += 1) reader.count();
    const categories = indexesIn(reader.block()).length;
    for (let count = 0; count < COUNTS_OF_CATEGORY * categories; count += 1) reader.count();
  });
