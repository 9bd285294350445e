import { LRUCache } from 'lru-cache';

import type { Moments } from '../rows/minute-row.ts';
import type { KnownCamera, KnownEvent, Versioned } from './shard-snapshot.ts';

const MEBIBYTE = 1_048_576;

/** About how many bytes a camera's day takes in memory. */
const sizeOfCamera = ({ value: day }: KnownCamera): number => {
  let size = 1_000 + 150 * day.tally.categories.size;
  for (const hour of day.hours.values()) size += 300 + hour.minutes.length + 150 * hour.tally.categories.size;
  return size;
};

const sizeOfEvent = ({ value: { facets } }: Versioned<KnownEvent>): number =>
  700 + 100 * ((facets.detections?.value.size ?? 0) + (facets.annotations?.value.size ?? 0));

const sizeOfMoments = ({ value: moments }: Versioned<Moments>): number => {
  let size = 500;
  for (const bytes of moments.values()) size += 150 + bytes.length;
  return size;
};

/** Rows of one kind, over all shards, in bounded memory. */
class RowsOfKind<Key extends string | number, Row extends object> {
  readonly #rows: LRUCache<string, Row>;

  constructor(maxSize: number, sizeCalculation: (row: Row) => number) {
    this.#rows = new LRUCache({ maxSize, sizeCalculation });
  }

  get(partition: string, key: Key): Row | undefined {
    return this.#rows.get(`${partition}|${key}`);
  }

  set(partition: string, key: Key, row: Row): void {
    this.#rows.set(`${partition}|${key}`, row);
  }

  forget(partition: string, key: Key): void {
    this.#rows.delete(`${partition}|${key}`);
  }
}

/**
 * The camera, minute and event rows that the process committed or read last: a steady stream needs no reads. Whatever is here
 * may be stale; each write carries the row's version and finds out.
 */
export class RowCache {
  /** By camera id. */
  readonly cameras = new RowsOfKind<string, KnownCamera>(96 * MEBIBYTE, sizeOfCamera);
  /** By row key. */
  readonly events = new RowsOfKind<string, Versioned<KnownEvent>>(48 * MEBIBYTE, sizeOfEvent);
  /** By minute of the day. */
  readonly moments = new RowsOfKind<number, Versioned<Moments>>(32 * MEBIBYTE, sizeOfMoments);
}
