import { decodingRow } from '../../storage/errors.ts';
import { type StoringWrite, writeOf } from '../../storage/row.ts';
import { StaleSnapshot } from '../errors.ts';
import { categoriesOf, contributionOf, type Facets, MAX_CAMERA_CATEGORIES } from '../model/camera-event.ts';
import { microsecondOfMinute } from '../model/day.ts';
import { applyFacets, isSuperseded } from '../model/newest-wins.ts';
import { EMPTY_TALLY, minus, plus, sumOf, type Tally } from '../model/tally.ts';
import { addToBucket, type Buckets, bucketValues, NO_BUCKETS } from '../rows/buckets.ts';
import { addToCamera, type CameraRow, cameraWrite, EMPTY_CAMERA } from '../rows/camera-row.ts';
import { type EventRow, eventWrite } from '../rows/event-row.ts';
import { DAY_KEY } from '../rows/keys.ts';
import { addSamples, type MinuteRow, minuteRowWrite, NO_SAMPLES } from '../rows/minute-row.ts';
import { MAX_TALLY_CATEGORIES } from '../rows/properties.ts';
import { EMPTY_STRIPE, hasRoom, type StripeRow, stripeWrite, withCameras } from '../rows/stripe-row.ts';
import { inStripe, newStripeWrites, type SealedRow } from '../rows/stripes.ts';
import type { KeyedMessage, Outcome } from './batch.ts';

/** A counter row of a stripe, by its kind. */
export type CounterRow =
  | { readonly kind: 'stripe'; readonly value: StripeRow }
  | { readonly kind: 'hour'; readonly value: Buckets }
  | { readonly kind: 'minute'; readonly value: MinuteRow }
  | { readonly kind: 'camera'; readonly value: CameraRow };

export type ShardRow = CounterRow | { readonly kind: 'event'; readonly value: EventRow };

/** A row with the version that it was read at or written with. */
export type Versioned<Row extends ShardRow> = Row & { readonly etag: string };

type OfKind<Kind extends ShardRow['kind']> = Versioned<Extract<ShardRow, { readonly kind: Kind }>>;

const isOfKind = <Kind extends ShardRow['kind']>(
  row: Versioned<ShardRow> | undefined,
  kind: Kind,
): row is OfKind<Kind> => row?.kind === kind;

export const ofKind = <Kind extends ShardRow['kind']>(
  row: Versioned<ShardRow> | undefined,
  kind: Kind,
): OfKind<Kind> | undefined => (isOfKind(row, kind) ? row : undefined);

/** What a commit needs of the rows of a shard. */
export interface Snapshot {
  readonly partition: string;
  /** The stripe that the commit writes to. If it has no `day` row, the commit inserts the stripe. */
  readonly stripe: number;
  /** The event rows by key, and the counter rows of the stripe by their key in stripe 0. A row that is not in the map is not stored. */
  readonly rows: ReadonlyMap<string, Versioned<ShardRow>>;
  /** For a new stripe: the shard's `day sealed` row; undefined: it does not exist. */
  readonly sealed: SealedRow | undefined;
  /** The categories that cameras have in the other stripes, by camera id, if a message may add one. */
  readonly elsewhere: ReadonlyMap<string, ReadonlySet<string>>;
}

/** One transaction: the outcome of each message, the writes (none if nothing changes), and the counter rows once they are applied. */
export interface CommitPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
  /** The `day` row of the stripe is first, so that a stale plan fails at once. */
  readonly writes: readonly StoringWrite[];
  /** The rows of the first of these writes, in their order, by their key in stripe 0. */
  readonly counters: ReadonlyMap<string, CounterRow>;
}

/**
 * What to write for messages about events of one shard and day: their event rows, and the differences that they make to the
 * counters of a stripe, in one transaction. Pure.
 *
 * @param messages in the order of arrival; messages about the same event are folded
 * @param configuredCategories the categories that always find room
 * @throws {StaleSnapshot} if the rows of the snapshot do not fit together
 */
export const planCommit = (
  snapshot: Snapshot,
  messages: readonly KeyedMessage[],
  configuredCategories: ReadonlySet<string> = new Set(),
): CommitPlan => {
  const draft = new Draft(snapshot, configuredCategories);
  const outcomes = messages.map((message) => draft.take(message));
  return draft.events.size === 0 ? { outcomes, writes: [], counters: new Map() } : { outcomes, ...draft.plan() };
};

/** A message that changed its event, and the difference that this makes to every counter of the event. */
interface Change extends KeyedMessage {
  readonly difference: Tally;
}

const hourOf = ({ hour }: Change): number => hour;
/** Of the hour. */
const minuteOf = ({ minute }: Change): number => minute % 60;
const sumOfChanges = (changes: readonly Change[]): Tally => sumOf(changes.map(({ difference }) => difference));

/** Applies messages to their events, and works out the differences that this makes to the counters. */
class Draft {
  /** The events that changed, by row key. */
  readonly events = new Map<string, EventRow>();
  readonly #snapshot: Snapshot;
  readonly #configured: ReadonlySet<string>;
  readonly #stripe: StripeRow;
  readonly #categories: Set<string>;
  /** The categories of each camera whose events changed. */
  readonly #cameraCategories = new Map<string, Set<string>>();
  readonly #newCameras: string[] = [];
  readonly #changes: Change[] = [];

  constructor(snapshot: Snapshot, configured: ReadonlySet<string>) {
    this.#snapshot = snapshot;
    this.#configured = configured;
    this.#stripe = ofKind(snapshot.rows.get(DAY_KEY), 'stripe')?.value ?? EMPTY_STRIPE;
    this.#categories = new Set(this.#stripe.tally.categories.keys());
  }

  take(keyed: KeyedMessage): Outcome {
    const { message, eventKey } = keyed;
    const before = this.events.get(eventKey) ?? ofKind(this.#snapshot.rows.get(eventKey), 'event')?.value;
    if (before !== undefined && before.ts !== message.ts) {
      return {
        code: 'changed_time',
        refused: 'data.ts_utc differs from its value in the first message about this event',
      };
    }
    const facets = applyFacets(before?.facets ?? {}, message.facets);
    if (before !== undefined && facets === before.facets) {
      return isSuperseded(facets, message.facets) ? 'superseded' : 'unchanged';
    }
    const refused = this.#reserve(keyed, facets);
    if (refused !== undefined) return { code: 'too_many', refused };

    this.events.set(eventKey, { ts: message.ts, facets });
    const counted = before === undefined ? EMPTY_TALLY : contributionOf(before.facets);
    this.#changes.push({ ...keyed, difference: minus(contributionOf(facets), counted) });
    return 'recorded';
  }

  /** Reserves room for the camera and its categories. Without room, reserves nothing and returns the reason. */
  #reserve({ message: { cameraId }, cameraKey }: KeyedMessage, facets: Facets): string | undefined {
    const ofCamera = this.#cameraCategories.get(cameraId) ?? this.#storedCategories(cameraId, cameraKey);
    const categories = [...categoriesOf(facets)];
    const newOfCamera = categories.filter((category) => !ofCamera.has(category));
    if (this.#lackRoom(newOfCamera, ofCamera, MAX_CAMERA_CATEGORIES)) {
      return `the camera would have more than ${MAX_CAMERA_CATEGORIES} categories in one day, with those of DETECTION_CATEGORIES`;
    }
    const newOfShard = categories.filter((category) => !this.#categories.has(category));
    if (this.#lackRoom(newOfShard, this.#categories, MAX_TALLY_CATEGORIES)) {
      return `the cameras together would have more than ${MAX_TALLY_CATEGORIES} categories in one shard of the day`;
    }
    if (!this.#stripe.cameras.indexes.has(cameraId) && !this.#cameraCategories.has(cameraId)) {
      if (!hasRoom(this.#stripe.cameras, [...this.#newCameras, cameraId])) {
        return 'more cameras would be active than one shard of the day has room for';
      }
      this.#newCameras.push(cameraId);
    }
    for (const category of newOfCamera) ofCamera.add(category);
    for (const category of newOfShard) this.#categories.add(category);
    this.#cameraCategories.set(cameraId, ofCamera);
    return undefined;
  }

  #storedCategories(cameraId: string, cameraKey: string): Set<string> {
    const { rows, elsewhere } = this.#snapshot;
    const own = ofKind(rows.get(cameraKey), 'camera')?.value.tally.categories.keys() ?? [];
    return new Set([...own, ...(elsewhere.get(cameraId) ?? [])]);
  }

  /** Whether new categories find no room. Room for all configured ones is reserved: they are never refused. */
  #lackRoom(added: readonly string[], there: ReadonlySet<string>, most: number): boolean {
    const configured = this.#configured;
    return (
      added.some((category) => !configured.has(category)) && new Set([...there, ...added, ...configured]).size > most
    );
  }

  plan(): Omit<CommitPlan, 'outcomes'> {
    const { stripe, rows, sealed } = this.#snapshot;
    const writes: StoringWrite[] = [];
    const counters = new Map<string, CounterRow>();
    const change = (write: StoringWrite, row: CounterRow): void => {
      counters.set(write.rowKey, row);
      writes.push({ ...write, rowKey: inStripe(write.rowKey, stripe) });
    };
    const etagOf = (key: string): string | undefined => rows.get(key)?.etag;

    const tally = plus(this.#stripe.tally, sumOfChanges(this.#changes));
    const categories = [...tally.categories.keys()];
    const cameras = withCameras(
      this.#stripe.cameras,
      this.#changes.map(({ message }) => message.cameraId),
    );
    const indexOf = ({ message }: Change): number => {
      const index = cameras.indexes.get(message.cameraId);
      if (index === undefined) throw new RangeError('a camera is not in the camera list');
      return index;
    };
    const addBuckets = (key: string, before: Buckets, changes: readonly Change[], numberOf: typeof hourOf): Buckets =>
      this.#fitting(key, () => {
        let after: Buckets | undefined = before;
        for (const [number, own] of Map.groupBy(changes, numberOf)) {
          after = after && addToBucket(after, number, sumOfChanges(own), own.map(indexOf), categories);
        }
        return after;
      });

    const before = ofKind(rows.get(DAY_KEY), 'stripe');
    const hours = addBuckets(DAY_KEY, this.#stripe.hours, this.#changes, hourOf);
    const day = { ...this.#stripe, tally, cameras, hours };
    const ofStripe = stripeWrite(stripe, before?.etag, before?.value, day, this.#changes.map(hourOf));
    change(ofStripe, { kind: 'stripe', value: day });
    for (const [key, own] of Map.groupBy(this.#changes, ({ hourKey }) => hourKey)) {
      const value = addBuckets(key, ofKind(rows.get(key), 'hour')?.value ?? NO_BUCKETS, own, minuteOf);
      change(writeOf(key, etagOf(key), bucketValues(value, own.map(minuteOf))), { kind: 'hour', value });
    }
    for (const [key, own] of Map.groupBy(this.#changes, ({ minuteKey }) => minuteKey)) {
      const samples = own.map((one) => ({
        microsecond: microsecondOfMinute(one.message.ts),
        cameraIndex: indexOf(one),
        tally: one.difference,
      }));
      const stored = ofKind(rows.get(key), 'minute')?.value ?? NO_SAMPLES;
      const value = this.#fitting(key, () => addSamples(stored, samples, categories));
      change(minuteRowWrite(key, etagOf(key), value, samples), { kind: 'minute', value });
    }
    for (const [key, own] of Map.groupBy(this.#changes, ({ cameraKey }) => cameraKey)) {
      const stored = ofKind(rows.get(key), 'camera')?.value ?? EMPTY_CAMERA;
      const differences = own.map(({ minute, difference }) => [minute, difference] as const);
      const value = this.#fitting(key, () => addToCamera(stored, differences));
      change(cameraWrite(key, etagOf(key), value, own.map(hourOf)), { kind: 'camera', value });
    }
    for (const [key, event] of this.events) writes.push(eventWrite(key, etagOf(key), event));
    if (before === undefined) writes.push(...newStripeWrites(stripe, sealed));
    return { writes, counters };
  }

  /** A changed row, if the row before and the `day` row of the snapshot fit together. @throws {StaleSnapshot | DamagedRow} */
  #fitting<Row>(key: string, change: () => Row | undefined): Row {
    const { partition, stripe } = this.#snapshot;
    const rowKey = inStripe(key, stripe);
    const row = decodingRow({ partitionKey: partition, rowKey }, change);
    if (row === undefined) throw new StaleSnapshot(`${rowKey} is newer than the day row`);
    return row;
  }
}
