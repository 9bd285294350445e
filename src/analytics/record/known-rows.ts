import { LRUCache } from 'lru-cache';

import type { CameraRow } from '../rows/camera-row.ts';
import type { EventRow } from '../rows/event-row.ts';
import type { HoursRow } from '../rows/hour-rows.ts';
import type { MinuteRow } from '../rows/minute-row.ts';
import { type Fence, inStripe } from '../rows/stripes.ts';
import type { TotalRow } from '../rows/total-row.ts';

/** A row of a shard, by its kind. */
export type ShardRow =
  | { readonly kind: 'total'; readonly value: TotalRow }
  /** A row of the camera list; the `total` row's value has the list. */
  | { readonly kind: 'list' }
  /** The `hours` row or an `hour` row. */
  | { readonly kind: 'buckets'; readonly value: HoursRow }
  | { readonly kind: 'samples'; readonly value: MinuteRow }
  | { readonly kind: 'camera'; readonly value: CameraRow }
  | { readonly kind: 'event'; readonly value: EventRow }
  /** It is not stored. */
  | { readonly kind: 'absent' };

/** A row with the version that it was read at or written with; that of an absent row means nothing. */
export type KnownRow = ShardRow & { readonly etag: string };

type OfKind<Kind extends ShardRow['kind']> = Extract<ShardRow, { readonly kind: Kind }> & { readonly etag: string };

const isOfKind = <Kind extends ShardRow['kind']>(row: KnownRow | undefined, kind: Kind): row is OfKind<Kind> =>
  row?.kind === kind;

/** A row where it is known and of a kind. */
export const ofKind = <Kind extends ShardRow['kind']>(
  row: KnownRow | undefined,
  kind: Kind,
): OfKind<Kind> | undefined => (isOfKind(row, kind) ? row : undefined);

/** What a commit needs of the rows of a shard. */
export interface ShardSnapshot {
  readonly partition: string;
  /** The stripe that the commit goes to. */
  readonly stripe: number;
  /** By row key: the event rows, and the counter rows of the stripe. A row that is not in the map, or absent, is not stored. */
  readonly rows: ReadonlyMap<string, KnownRow>;
  /** Where the stripe has no commit yet: the fence of the shard; undefined: the shard has no commit at all. */
  readonly fence: Fence | undefined;
  /** The categories that cameras have in the other stripes, by camera id, where a message may add one. */
  readonly elsewhere: ReadonlyMap<string, ReadonlySet<string>>;
}

/** A counter row of a snapshot's stripe, by its key in stripe 0. */
export const counterRow = <Kind extends ShardRow['kind']>(
  { rows, stripe }: ShardSnapshot,
  key: string,
  kind: Kind,
): OfKind<Kind> | undefined => ofKind(rows.get(inStripe(key, stripe)), kind);

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

  /** What is known of a shard from now on: nothing yet. */
  ofShard(): KnownRowsOfShard {
    return new KnownRowsOfShard(this.#rows);
  }
}

/** What the process knows of the rows of one shard, by row key. */
export class KnownRowsOfShard {
  static #epochs = 0;
  readonly #rows: LRUCache<string, KnownRow>;
  /** Counter rows are known in an epoch: a new one forgets them all at once. Event rows are known in the first one for ever. */
  readonly #firstEpoch = (KnownRowsOfShard.#epochs += 1);
  #epoch = this.#firstEpoch;

  constructor(rows: LRUCache<string, KnownRow>) {
    this.#rows = rows;
  }

  get(rowKey: string): KnownRow | undefined {
    return this.#rows.get(this.#nameOf(rowKey));
  }

  /** Keeps a row as it was read or written; undefined: it is not stored. */
  keep(rowKey: string, row: KnownRow = ABSENT): KnownRow {
    this.#rows.set(this.#nameOf(rowKey), row);
    return row;
  }

  /** Forgets every counter row, and the rows of some events. */
  forget(eventKeys: Iterable<string>): void {
    this.#epoch = KnownRowsOfShard.#epochs += 1;
    this.forgetEvents(eventKeys);
  }

  forgetEvents(eventKeys: Iterable<string>): void {
    for (const key of eventKeys) this.#rows.delete(this.#nameOf(key));
  }

  #nameOf(rowKey: string): string {
    return `${rowKey.startsWith('event|') ? this.#firstEpoch : this.#epoch}/${rowKey}`;
  }
}
