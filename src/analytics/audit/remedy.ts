import type { Tally } from '../model/tally.ts';

/** What is added to a counter so that it agrees with the event rows. It stays right whatever is committed meanwhile. */
export type Correction =
  | { readonly of: 'total'; readonly tally: Tally; readonly cameras: readonly string[] }
  /** `hour` of the day, 0 to 23; `cameras` become active in it. */
  | { readonly of: 'hour'; readonly hour: number; readonly tally: Tally; readonly cameras: readonly string[] }
  /** `minute` of the day, 0 to 1439. */
  | { readonly of: 'minute'; readonly minute: number; readonly tally: Tally; readonly cameras: readonly string[] }
  | { readonly of: 'samples'; readonly minute: number; readonly samples: readonly SampleCorrection[] }
  | { readonly of: 'camera'; readonly cameraId: string; readonly tally: Tally }
  | { readonly of: 'camera hour'; readonly cameraId: string; readonly hour: number; readonly tally: Tally }
  | { readonly of: 'camera minute'; readonly cameraId: string; readonly minute: number; readonly tally: Tally };

/** What is added to one camera's sample of one microsecond. */
export interface SampleCorrection {
  /** Of the minute, 0 to 59,999,999. */
  readonly microsecond: number;
  readonly cameraId: string;
  readonly tally: Tally;
}

/**
 * Rows that no difference can mend. With a row of a stripe go the rows below it that cannot be read without it: with `hours` the
 * stripe's hour rows and minute rows, with an hour row its minute rows, with the total everything.
 */
export type DamagedRows =
  | { readonly of: 'row'; readonly rowKey: string }
  | { readonly of: 'hour'; readonly stripe: number; readonly hour: number }
  | { readonly of: 'hours'; readonly stripe: number }
  | { readonly of: 'stripe'; readonly stripe: number };

/** How a repair puts a difference right. */
export type Remedy =
  | { readonly kind: 'add'; readonly corrections: readonly Correction[] }
  | { readonly kind: 'set aside'; readonly rows: readonly DamagedRows[] }
  /** The commit number of a stripe's total is raised. */
  | { readonly kind: 'number'; readonly stripe: number; readonly commit: number }
  /** The shard's fence and its first total say this number of stripes. */
  | { readonly kind: 'stripes'; readonly stripes: number }
  /** The day's manifest says this number of shards. */
  | { readonly kind: 'shards'; readonly shards: number }
  /** The events of a camera are recorded in the shard that the manifest gives it, and set aside here. */
  | { readonly kind: 'move'; readonly cameraId: string }
  /** It goes with another difference. */
  | { readonly kind: 'none' };
