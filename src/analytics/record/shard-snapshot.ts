import type { CameraRow } from '../rows/camera-row.ts';
import type { EventRow } from '../rows/event-row.ts';
import type { HourRow, HoursRow } from '../rows/hour-rows.ts';
import type { MinuteRow } from '../rows/minute-row.ts';
import type { StoredTotal } from '../rows/total-row.ts';

/** A row with the version that it was read at or written with. */
export interface Versioned<Row> {
  readonly etag: string;
  readonly value: Row;
}

/** A camera's row of which only the hours `known` (0 to 23) were read. */
export interface KnownCamera extends Versioned<CameraRow> {
  readonly known: ReadonlySet<number>;
}

/** The rows of a shard that a commit needs, read together. A row that is not in a map is not stored. */
export interface ShardSnapshot {
  readonly partition: string;
  readonly total: StoredTotal | undefined;
  readonly hours: Versioned<HoursRow> | undefined;
  /** By hour of the day. */
  readonly hourRows: ReadonlyMap<number, Versioned<HourRow>>;
  /** By minute of the day. */
  readonly minuteRows: ReadonlyMap<number, Versioned<MinuteRow>>;
  /** By camera id. */
  readonly cameras: ReadonlyMap<string, KnownCamera>;
  /** By row key. */
  readonly events: ReadonlyMap<string, Versioned<EventRow>>;
}

/** A row of a snapshot has a category that the total of the snapshot lacks: another process committed between the reads. */
export class StaleSnapshot extends Error {
  override readonly name = 'StaleSnapshot';
}
