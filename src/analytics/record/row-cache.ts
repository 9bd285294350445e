import { LRUCache } from 'lru-cache';

import type { EventRow } from '../rows/event-row.ts';
import type { MinuteRow } from '../rows/minute-row.ts';
import type { KnownCamera, Versioned } from './shard-snapshot.ts';

const MEBIBYTE = 1_048_576;

// Estimates of the bytes that a row takes in memory.
const sizeOfCamera = ({ value: { tally, hours } }: KnownCamera): number => {
  let size = 1_000 + 150 * tally.categories.size;
  for (const hour of hours.values()) size += 300 + hour.minutes.length + 150 * hour.tally.categories.size;
  return size;
};

const sizeOfEvent = ({ value: { facets } }: Versioned<EventRow>): number =>
  700 + 100 * ((facets.detections?.value.size ?? 0) + (facets.annotations?.value.size ?? 0));

const sizeOfMinute = ({ value: seconds }: Versioned<MinuteRow>): number => {
  let size = 500;
  for (const bytes of seconds.values()) size += 150 + bytes.length;
  return size;
};

/** Rows of one kind, of all shards, in bounded memory. */
export class RowsOfKind<Key extends string | number, Row extends object> {
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
 * The camera, minute and event rows that the process last committed or read, so that a steady stream needs no reads. They may be
 * stale: each write carries the row's version and fails where it is.
 */
export class RowCache {
  /** By camera id. */
  readonly cameras = new RowsOfKind<string, KnownCamera>(96 * MEBIBYTE, sizeOfCamera);
  /** By row key. */
  readonly events = new RowsOfKind<string, Versioned<EventRow>>(48 * MEBIBYTE, sizeOfEvent);
  /** By minute of the day. */
  readonly minutes = new RowsOfKind<number, Versioned<MinuteRow>>(32 * MEBIBYTE, sizeOfMinute);
}
