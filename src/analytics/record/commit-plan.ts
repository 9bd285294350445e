import { decodingRow } from '../../storage/errors.ts';
import { type StoringWrite, writeOf } from '../../storage/row.ts';
import { StaleSnapshot } from '../errors.ts';
import { contributionOf, type Facets, MAX_CAMERA_CATEGORIES } from '../model/camera-event.ts';
import { type Hour, hourOf, minuteOfHour, type MinuteOfDay, type MinuteOfHour } from '../model/day.ts';
import { applyFacets, isSuperseded } from '../model/newest-wins.ts';
import { type DayTally, differenceOf, sumOf, sumOfDays } from '../model/tally.ts';
import { addToBucket, type Buckets, bucketValues, type HourRow } from '../rows/buckets.ts';
import { addToCamera, type CameraRow, cameraWrite, EMPTY_CAMERA } from '../rows/camera-row.ts';
import { type DayRow, dayWrite, EMPTY_DAY, hasRoom, stripedWrite, withCameras } from '../rows/day-row.ts';
import { type EventRow, eventWrite } from '../rows/event-row.ts';
import { cameraCounter, counterKey, type CounterKey, DAY_COUNTER, type EventKey, hourCounter } from '../rows/keys.ts';
import { MAX_TALLY_CATEGORIES } from '../rows/properties.ts';
import type { KeyedMessage, Outcome } from './batch.ts';

/** A row with the version that it was read at or written with. */
export interface Versioned<Row> {
  readonly value: Row;
  readonly etag: string;
}

/** The state of stripe 0, for a commit to another stripe: it has no `day` row; it does not tell readers of other stripes; or it does. */
export type FirstStripe = 'missing' | 'alone' | 'striped';

/** The rows of a shard that a commit needs. A row that is not in a map is not stored. */
export interface Snapshot {
  readonly partition: string;
  /** The stripe that the commit writes to. */
  readonly stripe: number;
  /** Of the stripe; undefined: the commit inserts it. */
  readonly day: Versioned<DayRow> | undefined;
  readonly hours: ReadonlyMap<Hour, Versioned<HourRow>>;
  readonly cameras: ReadonlyMap<string, Versioned<CameraRow>>;
  readonly events: ReadonlyMap<EventKey, Versioned<EventRow>>;
  readonly firstStripe: FirstStripe;
}

/** The counter rows of a stripe once a commit is applied: the day, and the hours and cameras that changed. */
export interface Counters {
  readonly day: DayRow;
  readonly hours: ReadonlyMap<Hour, HourRow>;
  readonly cameras: ReadonlyMap<string, CameraRow>;
}

/** One transaction: the outcome of each message, the writes (none if nothing changes), and the counter rows once they are applied. */
export interface CommitPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
  /**
   * The `day` row of the stripe is first: if another writer was in the stripe, the transaction fails there. Then the hours and the cameras of
   * `counters` in their order, and the events. The `day` row of stripe 0 is last.
   */
  readonly writes: readonly StoringWrite[];
  /** undefined if nothing changes. */
  readonly counters: Counters | undefined;
}

/**
 * The writes for messages about events of one shard and day: their event rows, and the differences that they make to the
 * counters of a stripe, in one transaction. Pure.
 *
 * @param messages in the order of arrival; messages about the same event are folded
 * @param configuredCategories the categories that always find room
 * @throws {StaleSnapshot} if the rows of the snapshot do not fit together
 * @throws {DamagedRow}
 */
export const planCommit = (
  snapshot: Snapshot,
  messages: readonly KeyedMessage[],
  configuredCategories: ReadonlySet<string> = new Set(),
): CommitPlan => {
  const draft = new Draft(snapshot, configuredCategories);
  const outcomes = messages.map((message) => draft.take(message));
  if (draft.changes.length === 0) return { outcomes, writes: [], counters: undefined };
  return { outcomes, ...planChanges(snapshot, draft) };
};

/** The difference that a message makes to the counters of its event. */
interface Change {
  readonly cameraId: string;
  readonly minute: MinuteOfDay;
  readonly difference: DayTally;
}

const planChanges = (
  { partition, stripe, firstStripe, ...before }: Snapshot,
  { changes, events }: Draft,
): Omit<CommitPlan, 'outcomes'> => {
  /** A changed row, if the row before and the `day` row fit together. */
  const fitting = <Row>(rowKey: CounterKey, change: () => Row | undefined): Row => {
    const row = decodingRow({ partitionKey: partition, rowKey }, change);
    if (row === undefined) throw new StaleSnapshot(`${rowKey} is newer than the day row`);
    return row;
  };
  const old = before.day?.value ?? EMPTY_DAY;
  const tally = sumOfDays([old.tally, ...changes.map(({ difference }) => difference)]);
  const categories = [...tally.categories.keys()];
  const cameraList = withCameras(
    old.cameras,
    changes.map(({ cameraId }) => cameraId),
  );
  const addTo = <Number extends Hour | MinuteOfHour>(
    rowKey: CounterKey,
    buckets: Buckets<Number>,
    changesOf: ReadonlyMap<Number, readonly Change[]>,
  ): Buckets<Number> =>
    fitting(rowKey, () => {
      let after: Buckets<Number> | undefined = buckets;
      for (const [number, some] of changesOf) {
        const difference = sumOf(some.map((change) => change.difference));
        const indexes = some.flatMap(({ cameraId }) => cameraList.indexes.get(cameraId) ?? []);
        after = after && addToBucket(after, number, difference, indexes, categories);
      }
      return after;
    });

  const byHour = Map.groupBy(changes, ({ minute }) => hourOf(minute));
  const dayKey = counterKey(DAY_COUNTER, stripe);
  const day = { tally, cameras: cameraList, hours: addTo(dayKey, old.hours, byHour) };
  const writes = [dayWrite(stripe, before.day, day, byHour.keys())];
  const hours = new Map<Hour, HourRow>();
  for (const [hour, some] of byHour) {
    const stored = before.hours.get(hour);
    const rowKey = counterKey(hourCounter(hour), stripe);
    const byMinute = Map.groupBy(some, ({ minute }) => minuteOfHour(minute));
    const row = addTo(rowKey, stored?.value ?? new Map(), byMinute);
    hours.set(hour, row);
    writes.push(writeOf(rowKey, stored?.etag, bucketValues(row, byMinute.keys())));
  }
  const cameras = new Map<string, CameraRow>();
  for (const [cameraId, some] of Map.groupBy(changes, (change) => change.cameraId)) {
    const stored = before.cameras.get(cameraId);
    const rowKey = counterKey(cameraCounter(cameraId), stripe);
    const row = fitting(rowKey, () => addToCamera(stored?.value ?? EMPTY_CAMERA, some));
    cameras.set(cameraId, row);
    const changedHours = some.map(({ minute }) => hourOf(minute));
    writes.push(cameraWrite(rowKey, stored, row, changedHours));
  }
  for (const [key, event] of events) writes.push(eventWrite(key, before.events.get(key)?.etag, event));
  // Before another stripe has counts, stripe 0 must say that it is striped, because readers check that. A new stripe writes it again: the table may
  // have been emptied.
  if (stripe !== 0 && (before.day === undefined || firstStripe !== 'striped')) {
    writes.push(stripedWrite(firstStripe !== 'missing'));
  }
  return { writes, counters: { day, hours, cameras } };
};

const NO_FACETS: Facets = {};

/** Applies messages to their events, and works out the differences that this makes to the counters. */
class Draft {
  readonly changes: Change[] = [];
  /** The events that changed. */
  readonly events = new Map<EventKey, EventRow>();
  readonly #snapshot: Snapshot;
  readonly #configured: ReadonlySet<string>;
  readonly #day: DayRow;
  readonly #categories: Set<string>;
  /** The categories of each camera whose events changed. */
  readonly #cameraCategories = new Map<string, Set<string>>();
  readonly #newCameras: string[] = [];

  constructor(snapshot: Snapshot, configured: ReadonlySet<string>) {
    this.#snapshot = snapshot;
    this.#configured = configured;
    this.#day = snapshot.day?.value ?? EMPTY_DAY;
    this.#categories = new Set(this.#day.tally.categories.keys());
  }

  take({ message, minute, eventKey }: KeyedMessage): Outcome {
    const { cameraId, ts } = message;
    const before = this.events.get(eventKey) ?? this.#snapshot.events.get(eventKey)?.value;
    if (before !== undefined && before.ts !== ts) {
      return {
        code: 'changed_time',
        refused: 'data.ts_utc differs from its value in the first message about this event',
      };
    }
    const facets = applyFacets(before?.facets ?? NO_FACETS, message.facets);
    if (before !== undefined && facets === before.facets) {
      return isSuperseded(facets, message.facets) ? 'superseded' : 'unchanged';
    }
    const contribution = contributionOf(facets);
    const difference = before === undefined ? contribution : differenceOf(contribution, contributionOf(before.facets));
    const refused = this.#reserve(cameraId, difference);
    if (refused !== undefined) return { code: 'too_many', refused };
    this.events.set(eventKey, { ts, facets });
    this.changes.push({ cameraId, minute, difference });
    return 'recorded';
  }

  /** Reserves room for the camera and the categories of a difference. Without room, reserves nothing and returns the reason. */
  #reserve(cameraId: string, { categories }: DayTally): string | undefined {
    const stored = this.#snapshot.cameras.get(cameraId)?.value.tally.categories;
    if (stored !== undefined && [...categories.keys()].every((category) => stored.has(category))) return undefined;
    const ofCamera = this.#cameraCategories.get(cameraId) ?? new Set(stored?.keys());
    // Counts that are only taken away always find room: another stripe may have counted them.
    const growing = [...categories].flatMap(([category, { detections, annotations }]) =>
      detections > 0 || annotations > 0 ? [category] : [],
    );
    if (this.#lackRoom(growing, ofCamera, MAX_CAMERA_CATEGORIES)) {
      return `the camera would have more than ${MAX_CAMERA_CATEGORIES} categories in one day, with those of DETECTION_CATEGORIES`;
    }
    if (this.#lackRoom(growing, this.#categories, MAX_TALLY_CATEGORIES)) {
      return `the cameras together would have more than ${MAX_TALLY_CATEGORIES} categories in one shard of the day`;
    }
    if (!this.#day.cameras.indexes.has(cameraId) && !this.#cameraCategories.has(cameraId)) {
      if (!hasRoom(this.#day.cameras, [...this.#newCameras, cameraId])) {
        return 'more cameras would be active than one shard of the day has room for';
      }
      this.#newCameras.push(cameraId);
    }
    for (const category of categories.keys()) {
      ofCamera.add(category);
      this.#categories.add(category);
    }
    this.#cameraCategories.set(cameraId, ofCamera);
    return undefined;
  }

  /** Whether new categories find no room. Room for all configured categories is reserved: they are never refused. */
  #lackRoom(growing: readonly string[], present: ReadonlySet<string>, most: number): boolean {
    const added = growing.filter((category) => !present.has(category) && !this.#configured.has(category));
    return added.length > 0 && new Set([...present, ...added, ...this.#configured]).size > most;
  }
}
