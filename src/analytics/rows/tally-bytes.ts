import type { ByteReader, ByteWriter } from './byte-stream.ts';
import { placesIn, withPlaces } from './bitset.ts';
import type { CategoryTally, Tally } from '../model/tally.ts';

// A whole day of minutes at the limits (1,440 minutes of 64 categories) fits a row of 1 MiB only in a compact form: events,
// reviewed, annotated; which categories, as a set of places in a list that is kept elsewhere; and three counts of each.
const COUNTS_OF_CATEGORY = 3;

/** Category → its place in the list. */
export const placesOf = (categories: Iterable<string>): ReadonlyMap<string, number> =>
  new Map(Array.from(categories, (category, place) => [category, place]));

/**
 * Writes a tally.
 *
 * @param places category → its place in the list of categories
 */
export const writeTally = (writer: ByteWriter, tally: Tally, places: ReadonlyMap<string, number>): void => {
  writer.count(tally.events);
  writer.count(tally.reviewed);
  writer.count(tally.annotated);
  const present = [...tally.categories]
    .map(([category, counts]): [number, CategoryTally] => {
      const place = places.get(category);
      if (place === undefined) throw new RangeError('a category has no place in its list');
      return [place, counts];
    })
    .sort(([left], [right]) => left - right);
  const set = withPlaces(
    new Uint8Array(),
    present.map(([place]) => place),
  );
  writer.count(set.length);
  writer.raw(set);
  for (const [, counts] of present) {
    writer.count(counts.detections);
    writer.count(counts.reviewed);
    writer.count(counts.annotations);
  }
};

/** Adds up tallies as they are stored; the categories get their names last. */
export class TallySum {
  #events = 0;
  #reviewed = 0;
  #annotated = 0;
  /** By place of the category: the three counts, one after the other; holes where no tally had the category. */
  readonly #counts: (number | undefined)[] = [];

  /** @throws {TypeError} where the bytes are not what {@link writeTally} writes */
  add(reader: ByteReader): void {
    this.#events += reader.count();
    this.#reviewed += reader.count();
    this.#annotated += reader.count();
    for (const place of placesIn(reader.raw(reader.count()))) {
      const from = COUNTS_OF_CATEGORY * place;
      for (let at = from; at < from + COUNTS_OF_CATEGORY; at += 1) {
        this.#counts[at] = (this.#counts[at] ?? 0) + reader.count();
      }
    }
  }

  /**
   * The sum.
   *
   * @param categories the list of categories
   * @returns undefined where the list lacks a category: it was read before the tallies were written
   */
  named(categories: readonly string[]): Tally | undefined {
    if (this.#counts.length > COUNTS_OF_CATEGORY * categories.length) return undefined;
    const named = new Map<string, CategoryTally>();
    for (const [place, category] of categories.entries()) {
      const [detections, reviewed, annotations] = this.#counts.slice(
        COUNTS_OF_CATEGORY * place,
        COUNTS_OF_CATEGORY * (place + 1),
      );
      if (detections === undefined || reviewed === undefined || annotations === undefined) continue;
      named.set(category, { detections, reviewed, annotations });
    }
    return { events: this.#events, reviewed: this.#reviewed, annotated: this.#annotated, categories: named };
  }
}

/**
 * Reads a tally.
 *
 * @param categories the list of categories
 * @returns undefined where the list lacks a category: it was read before the tally was written
 * @throws {TypeError} where the bytes are not what {@link writeTally} writes
 */
export const readTally = (reader: ByteReader, categories: readonly string[]): Tally | undefined => {
  const sum = new TallySum();
  sum.add(reader);
  return sum.named(categories);
};

/**
 * Passes over a tally.
 *
 * @returns its bytes
 * @throws {TypeError} where they end in the middle
 */
export const passTally = (reader: ByteReader): Uint8Array =>
  reader.over(() => {
    for (let count = 0; count < 3; count += 1) reader.count();
    const categories = placesIn(reader.raw(reader.count())).length;
    for (let count = 0; count < COUNTS_OF_CATEGORY * categories; count += 1) reader.count();
  });
