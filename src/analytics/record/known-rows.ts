import { LRUCache } from 'lru-cache';

import { type Counts, type Facet, NO_COUNTS } from '../model/camera-event.ts';
import type { Tally } from '../model/tally.ts';
import type { CameraRow } from '../rows/camera-row.ts';
import type { EventRow } from '../rows/event-row.ts';
import type { HoursRow } from '../rows/hour-rows.ts';
import type { MinuteRow } from '../rows/minute-row.ts';
import type { Fence } from '../rows/stripes.ts';
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
  /** The event rows by key, and the counter rows of the stripe by their key in stripe 0. A row that is not in the map, or absent, is not stored. */
  readonly rows: ReadonlyMap<string, KnownRow>;
  /** Where the stripe has no commit yet: the fence of the shard; undefined: the shard has no commit at all. */
  readonly fence: Fence | undefined;
  /** The categories that cameras have in the other stripes, by camera id, where a message may add one. */
  readonly elsewhere: ReadonlyMap<string, ReadonlySet<string>>;
}

const MAX_BYTES = 64 * 1_048_576;
const ABSENT: KnownRow = { kind: 'absent', etag: '' };

// About how many bytes things take in memory, as measured: a row with its version and its place among the others, without its name and its
// value; a map; what stands for bytes, without them.
const ROW = 280;
const MAP = 200;
const BYTES = 200;

const tallySize = ({ categories }: Tally): number => MAP + 60 + 60 * categories.size;

const facetSize = (counts: Facet<Counts> | undefined): number =>
  counts === undefined ? 0 : 50 + (counts.value === NO_COUNTS ? 0 : MAP + 20 * counts.value.size);

const valueSize = (row: KnownRow): number => {
  let size = MAP;
  switch (row.kind) {
    case 'total': {
      const { tally, cameras } = row.value;
      // Each id is there twice: by itself, and in its text.
      for (const { length } of cameras.texts) size += 2.5 * length;
      return size + MAP + tallySize(tally) + 80 * cameras.ids.length;
    }
    case 'buckets':
      for (const { tally, active } of row.value.values()) size += 150 + 2 * BYTES + tally.length + active.length;
      return size;
    case 'samples':
      for (const { length } of row.value.values()) size += 50 + BYTES + length;
      return size;
    case 'camera':
      for (const { tally, minutes } of row.value.hours.values()) {
        size += 150 + tallySize(tally) + BYTES + minutes.length;
      }
      return size + MAP + tallySize(row.value.tally);
    case 'event': {
      const { detections, reviewed, annotations } = row.value.facets;
      return 150 + facetSize(detections) + facetSize(annotations) + (reviewed === undefined ? 0 : 60);
    }
    case 'list':
    case 'absent':
      return 0;
  }
};

/** About how many bytes a row and its name take in memory: a character of a name takes one byte, or two if any of them is not Latin. */
const sizeOf = (row: KnownRow, { length }: string): number => ROW + Math.ceil(1.5 * length + valueSize(row));

/**
 * The rows that the process last committed or read, of all shards, in bounded memory: a steady stream needs no reads. They may be
 * stale: each write carries the row's version and fails where it is.
 */
export class KnownRows {
  readonly rows = new LRUCache<string, KnownRow>({ maxSize: MAX_BYTES, sizeCalculation: sizeOf });
  /** The stripe that the process used last, in any shard. On another shard it starts there, so that instances keep apart. */
  lastStripe = 0;

  /** About how many bytes the rows take in memory. */
  get bytes(): number {
    return this.rows.calculatedSize;
  }
}

/**
 * What the process knows of the rows of one shard: event rows by key, and the counter rows of its writer's stripe by their key in stripe 0.
 */
export class KnownRowsOfShard {
  static #epochs = 0;
  readonly ofProcess: KnownRows;
  /** Rows are known in an epoch: a new one forgets them all at once. That of counter rows changes more often. */
  #ofEvents = (KnownRowsOfShard.#epochs += 1);
  #ofCounters = this.#ofEvents;

  constructor(ofProcess: KnownRows) {
    this.ofProcess = ofProcess;
  }

  get(rowKey: string): KnownRow | undefined {
    return this.ofProcess.rows.get(this.#nameOf(rowKey));
  }

  /** Keeps a row as it was read or written; undefined: it is not stored. */
  keep(rowKey: string, row: KnownRow = ABSENT): KnownRow {
    this.ofProcess.rows.set(this.#nameOf(rowKey), row);
    return row;
  }

  forgetAll(): void {
    this.#ofEvents = KnownRowsOfShard.#epochs += 1;
    this.forgetCounters();
  }

  forgetCounters(): void {
    this.#ofCounters = KnownRowsOfShard.#epochs += 1;
  }

  forgetEvents(eventKeys: Iterable<string>): void {
    for (const key of eventKeys) this.ofProcess.rows.delete(this.#nameOf(key));
  }

  #nameOf(rowKey: string): string {
    return `${rowKey.startsWith('event|') ? this.#ofEvents : this.#ofCounters}/${rowKey}`;
  }
}
