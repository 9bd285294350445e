import type { CameraRow } from '../rows/camera-row.ts';
import type { EventRow } from '../rows/event-row.ts';
import type { HoursRow } from '../rows/hour-rows.ts';
import type { MinuteRow } from '../rows/minute-row.ts';
import { type Fence, inStripe } from '../rows/stripes.ts';
import type { TotalRow } from '../rows/total-row.ts';
import { WriteConflict } from '../../storage/errors.ts';
import { StaleSnapshot } from '../errors.ts';

/** A row of a shard, by its kind. */
export type ShardRow =
  | { readonly kind: 'total'; readonly value: TotalRow }
  /** A row of the camera list; the `total` row's value has the list. */
  | { readonly kind: 'list' }
  /** The `hours` row or an `hour` row. */
  | { readonly kind: 'buckets'; readonly value: HoursRow }
  | { readonly kind: 'samples'; readonly value: MinuteRow }
  /** `hours`: the hours of the day of which the value has the counters. */
  | { readonly kind: 'camera'; readonly value: CameraRow; readonly hours: ReadonlySet<number> }
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

/** What a commit needs of the rows of a shard, read together. */
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

/** The version of a row that is stored. */
export const versionOf = (row: KnownRow | undefined): string | undefined =>
  row === undefined || row.kind === 'absent' ? undefined : row.etag;

/** Whether an error says that another writer came first. */
export const isConflict = (error: unknown): boolean => error instanceof WriteConflict || error instanceof StaleSnapshot;
