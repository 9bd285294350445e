import { LRUCache } from 'lru-cache';

import type { KnownRow } from './shard-snapshot.ts';

const MAX_BYTES = 176 * 1_048_576;
const ABSENT: KnownRow = { kind: 'absent', etag: '' };

/** About how many bytes a row takes in memory. */
const sizeOf = (row: KnownRow): number => {
  let size = 300;
  switch (row.kind) {
    case 'total':
      return size + 250 * row.value.cameras.ids.length + 150 * row.value.tally.categories.size;
    case 'buckets':
      for (const { tally, active } of row.value.values()) size += 200 + tally.length + active.length;
      return size;
    case 'samples':
      for (const bytes of row.value.values()) size += 150 + bytes.length;
      return size;
    case 'camera':
      size += 700 + 150 * row.value.tally.categories.size;
      for (const { tally, minutes } of row.value.hours.values()) {
        size += 300 + minutes.length + 150 * tally.categories.size;
      }
      return size;
    case 'event': {
      const { detections, annotations } = row.value.facets;
      return size + 400 + 100 * ((detections?.value.size ?? 0) + (annotations?.value.size ?? 0));
    }
    case 'list':
    case 'absent':
      return size;
  }
};

/**
 * The rows that the process last committed or read, of all shards, in bounded memory: a steady stream needs no reads. They may be
 * stale: each write carries the row's version and fails where it is.
 */
export class KnownRows {
  readonly #rows = new LRUCache<string, KnownRow>({ maxSize: MAX_BYTES, sizeCalculation: sizeOf });
  #epochs = 0;

  /** What is known of one shard. */
  ofShard(partition: string): KnownRowsOfShard {
    return new KnownRowsOfShard(this.#rows, partition, () => (this.#epochs += 1));
  }
}

/** What the process knows of the rows of one shard, by row key. */
export class KnownRowsOfShard {
  readonly #rows: LRUCache<string, KnownRow>;
  readonly #partition: string;
  readonly #newEpoch: () => number;
  /** Counter rows are known in an epoch: a new one forgets them all at once. Event rows are known at any time. */
  #epoch: number;

  constructor(rows: LRUCache<string, KnownRow>, partition: string, newEpoch: () => number) {
    this.#rows = rows;
    this.#partition = partition;
    this.#newEpoch = newEpoch;
    this.#epoch = newEpoch();
  }

  get(rowKey: string): KnownRow | undefined {
    return this.#rows.get(this.#nameOf(rowKey));
  }

  set(rowKey: string, row: KnownRow): void {
    this.#rows.set(this.#nameOf(rowKey), row);
  }

  /** Keeps a row that was read; undefined: it is not stored. */
  keep(rowKey: string, row: KnownRow = ABSENT): KnownRow {
    this.set(rowKey, row);
    return row;
  }

  forget(rowKey: string): void {
    this.#rows.delete(this.#nameOf(rowKey));
  }

  /** Forgets every counter row. */
  forgetCounters(): void {
    this.#epoch = this.#newEpoch();
  }

  #nameOf(rowKey: string): string {
    return rowKey.startsWith('event|') ? `${this.#partition}/${rowKey}` : `${this.#partition}/${this.#epoch}/${rowKey}`;
  }
}
