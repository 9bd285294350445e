import { decodingRow } from '../../storage/errors.ts';
import { ANY_VERSION, type StoringWrite } from '../../storage/row.ts';
import { StaleSnapshot } from '../errors.ts';
import { categoriesOf, contributionOf, MAX_CAMERA_CATEGORIES, type Facets } from '../model/camera-event.ts';
import { applyFacets } from '../model/newest-wins.ts';
import { EMPTY_TALLY, minus, plus } from '../model/tally.ts';
import { MAX_CAMERAS_PER_SHARD } from '../rows/bitset.ts';
import { addToCamera, cameraWrite, emptyCameraRow, hoursOf } from '../rows/camera-row.ts';
import { eventWrite, type EventRow } from '../rows/event-row.ts';
import { addToBucket, bucketsWrite, NO_BUCKETS } from '../rows/hour-rows.ts';
import { TOTAL_KEY } from '../rows/keys.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES } from '../rows/minute-row.ts';
import { MAX_TALLY_CATEGORIES } from '../rows/properties.ts';
import { COMMIT_NUMBER, fenceWrite, inStripe, announcement } from '../rows/stripes.ts';
import { withCameras, type CameraList, EMPTY_TOTAL, totalWrites, type TotalRow } from '../rows/total-row.ts';
import { type KeyedMessage, type Outcome, unchangedOutcome } from './batch.ts';
import { CounterDifferences } from './counter-differences.ts';
import { ofKind, type ShardRow, type ShardSnapshot } from './known-rows.ts';

/** Writes, and the rows as they are once these are applied. */
export interface RowsPlan {
  /** The `total` row of the stripe is first, so that a stale plan fails at once. */
  readonly writes: readonly StoringWrite[];
  /** The rows of the first of these writes, in their order; counter rows by their key in stripe 0. */
  readonly rows: ReadonlyMap<string, ShardRow>;
}

/** One transaction: the outcome of each message, the writes (none where nothing changes), and the rows once they are applied. */
export interface CommitPlan extends RowsPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
}

/**
 * What to write for messages about events of one shard and day: their event rows, and the differences that they make to the
 * counters of a stripe, in one transaction. Pure.
 *
 * @param messages in the order of arrival; messages about the same event are folded
 * @param knownCategories the categories that always find room
 * @throws {StaleSnapshot} where the rows of the snapshot do not fit together
 * @throws {DamagedRow}
 */
export const planCommit = (
  snapshot: ShardSnapshot,
  messages: readonly KeyedMessage[],
  knownCategories: ReadonlySet<string> = new Set(),
): CommitPlan => {
  const draft = new Draft(snapshot, knownCategories);
  const outcomes = messages.map((message) => draft.take(message));
  const { events, differences } = draft;
  if (events.size === 0) return { outcomes, writes: [], rows: new Map() };
  return { outcomes, ...planChanges(snapshot, differences, events) };
};

/** Applies messages to their events, and works out the differences that this makes to the counters. */
class Draft {
  /** The events that changed, by row key. */
  readonly events = new Map<string, EventRow>();
  readonly differences = new CounterDifferences();
  readonly #snapshot: ShardSnapshot;
  readonly #knownCategories: ReadonlySet<string>;
  readonly #total: TotalRow;
  readonly #categories: Set<string>;
  /** The categories of each camera whose events changed. */
  readonly #cameraCategories = new Map<string, Set<string>>();
  #newCameras = 0;

  constructor(snapshot: ShardSnapshot, knownCategories: ReadonlySet<string>) {
    this.#snapshot = snapshot;
    this.#knownCategories = knownCategories;
    this.#total = ofKind(snapshot.rows.get(TOTAL_KEY), 'total')?.value ?? EMPTY_TOTAL;
    this.#categories = new Set(this.#total.tally.categories.keys());
  }

  take(keyed: KeyedMessage): Outcome {
    const { message, eventKey } = keyed;
    const before = this.events.get(eventKey) ?? ofKind(this.#snapshot.rows.get(eventKey), 'event')?.value;
    if (before !== undefined && before.ts !== message.ts) {
      return {
        code: 'changed_time',
        refused: 'data.ts_utc is not the one that this event of this camera was first reported with',
      };
    }
    const facets = applyFacets(before?.facets ?? {}, message.facets);
    if (before !== undefined && facets === before.facets) return unchangedOutcome(facets, message.facets);
    const refused = this.#reserve(keyed, facets);
    if (refused !== undefined) return { code: 'too_many', refused };

    this.events.set(eventKey, { ts: message.ts, facets });
    const counted = before === undefined ? EMPTY_TALLY : contributionOf(before.facets);
    this.differences.addEvent(keyed, minus(contributionOf(facets), counted));
    return 'recorded';
  }

  /** Reserves room for the camera and its categories. Where there is none, reserves nothing and returns the reason. */
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
    const { ids, indexes } = this.#total.cameras;
    const isNew = !indexes.has(cameraId) && !this.#cameraCategories.has(cameraId);
    if (isNew && ids.length + this.#newCameras >= MAX_CAMERAS_PER_SHARD) {
      return `more than ${MAX_CAMERAS_PER_SHARD} cameras would be active in one shard of the day`;
    }
    if (isNew) this.#newCameras += 1;
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

  /** Whether there is no room for categories beside those that are there. The room of all known ones is reserved: they are never refused. */
  #lackRoom(added: readonly string[], there: ReadonlySet<string>, most: number): boolean {
    const known = this.#knownCategories;
    return added.some((category) => !known.has(category)) && new Set([...there, ...added, ...known]).size > most;
  }
}

/**
 * What to write to add differences to the counters of a snapshot's stripe, and to store events as they are now. Pure.
 *
 * @param events by row key
 * @throws {StaleSnapshot} where the rows of the snapshot do not fit together
 * @throws {DamagedRow}
 */
export const planChanges = (
  snapshot: ShardSnapshot,
  differences: CounterDifferences,
  events: ReadonlyMap<string, EventRow> = new Map(),
): RowsPlan => {
  const stored = <Kind extends ShardRow['kind']>(key: string, kind: Kind) => ofKind(snapshot.rows.get(key), kind);
  const before = stored(TOTAL_KEY, 'total')?.value;
  const known = before ?? EMPTY_TOTAL;
  const total: TotalRow = {
    ...known,
    tally: plus(known.tally, differences.day),
    cameras: withCameras(known.cameras, differences.cameraIds),
    commit: known.commit + 1,
  };
  const categories = [...total.tally.categories.keys()];
  const writes: StoringWrite[] = [];
  const rows = new Map<string, ShardRow>();
  /** Adds a change of a counter row. The key is that of stripe 0. */
  const change = (write: StoringWrite, row: ShardRow): void => {
    rows.set(write.rowKey, row);
    const properties = { ...write.properties, [COMMIT_NUMBER]: total.commit };
    writes.push({ ...write, rowKey: inStripe(write.rowKey, snapshot.stripe), properties });
  };
  const etagOf = (key: string): string | undefined => {
    const row = snapshot.rows.get(key);
    return row?.kind === 'absent' ? undefined : row?.etag;
  };
  for (const write of totalWrites(before, total, etagOf)) {
    change(write, write.rowKey === TOTAL_KEY ? { kind: 'total', value: total } : { kind: 'list' });
  }

  for (const [key, buckets] of differences.buckets) {
    let value = stored(key, 'buckets')?.value ?? NO_BUCKETS;
    for (const [number, { tally, cameras }] of buckets) {
      const indexes = cameras.map((cameraId) => indexIn(total.cameras, cameraId));
      value = fitting(snapshot, key, () => addToBucket(value, number, tally, indexes, categories));
    }
    if (buckets.size > 0)
      change(bucketsWrite(key, etagOf(key), value, [...buckets.keys()]), { kind: 'buckets', value });
  }

  for (const [key, ofRow] of differences.samples) {
    const added = ofRow.differences.map(({ microsecond, cameraId, tally }) => ({
      microsecond,
      cameraIndex: indexIn(total.cameras, cameraId),
      tally,
    }));
    const value = fitting(snapshot, key, () =>
      addSamples(stored(key, 'samples')?.value ?? NO_SAMPLES, added, categories),
    );
    change(minuteRowWrite(key, etagOf(key), value, added), { kind: 'samples', value });
  }

  for (const [key, difference] of differences.cameras) {
    const row = stored(key, 'camera')?.value ?? emptyCameraRow(indexIn(total.cameras, difference.cameraId));
    const value = fitting(snapshot, key, () => addToCamera(row, difference));
    change(cameraWrite(key, etagOf(key), value, hoursOf(difference)), { kind: 'camera', value });
  }

  for (const [key, value] of events) {
    rows.set(key, { kind: 'event', value });
    writes.push(eventWrite(key, stored(key, 'event')?.etag, value));
  }
  return { writes: [...writes, ...(before === undefined ? newStripeWrites(snapshot) : [])], rows };
};

/** A new stripe announces itself in stripe 0's `total` row, and passes the fence. */
const newStripeWrites = ({ stripe, fence }: ShardSnapshot): readonly StoringWrite[] => {
  const stripes = Math.max(fence?.stripes ?? 0, stripe + 1);
  const fenced = fenceWrite(fence, stripes);
  if (stripe === 0) return [fenced];
  // Other writers change other properties of this row all the time. What orders the new stripes is the fence.
  return [{ kind: 'merge', rowKey: TOTAL_KEY, etag: ANY_VERSION, properties: announcement(stripes) }, fenced];
};

/** A changed row, where the row before and the total of the snapshot fit together. */
const fitting = <Row>({ partition, stripe }: ShardSnapshot, key: string, change: () => Row | undefined): Row => {
  const rowKey = inStripe(key, stripe);
  const row = decodingRow({ partitionKey: partition, rowKey }, change);
  if (row === undefined) throw new StaleSnapshot(`${rowKey} is newer than the total`);
  return row;
};

/** The index of a camera that is in the list. */
const indexIn = ({ indexes }: CameraList, cameraId: string): number => {
  const index = indexes.get(cameraId);
  if (index === undefined) throw new RangeError('a camera is not in the camera list');
  return index;
};
