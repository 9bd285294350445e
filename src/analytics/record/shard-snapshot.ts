import type { Buckets } from '../rows/bucket-row.ts';
import type { Facets } from '../model/camera-event.ts';
import type { CameraDay } from '../rows/camera-row.ts';
import type { Instant } from '../model/instant.ts';
import type { Moments } from '../rows/minute-row.ts';
import type { StoredTotal } from '../rows/total-row.ts';

/** Something stored, with its row's version; `etag` undefined: not stored yet. */
export interface Versioned<Value> {
  readonly etag: string | undefined;
  readonly value: Value;
}

/** What an event is known to be. */
export interface KnownEvent {
  readonly ts: Instant;
  readonly facets: Facets;
}

/** A camera's row as last seen: of the hours `known` (0 to 23), all there is in it. */
export interface KnownCamera extends Versioned<CameraDay> {
  readonly known: ReadonlySet<number>;
}

/** What is known of a shard's rows. A row that is not in a map is not stored. */
export interface ShardView {
  readonly total: StoredTotal | undefined;
  /** The hours of the day. */
  readonly hours: Versioned<Buckets> | undefined;
  /** By hour of the day: its minutes. */
  readonly minutes: ReadonlyMap<number, Versioned<Buckets>>;
  /** By minute of the day: its moments. */
  readonly moments: ReadonlyMap<number, Versioned<Moments>>;
  readonly cameras: ReadonlyMap<string, KnownCamera>;
  /** By row key. */
  readonly events: ReadonlyMap<string, Versioned<KnownEvent>>;
}
