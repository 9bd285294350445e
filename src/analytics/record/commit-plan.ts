import { type StoringWrite, writeOf } from '../../storage/row.ts';
import { contributionOf, type Facets, MAX_CAMERA_CATEGORIES } from '../model/camera-event.ts';
import { type Hour, hourOf, minuteOfHour } from '../model/day.ts';
import { applyFacets, isSuperseded } from '../model/newest-wins.ts';
import { type DayTally, differenceOf } from '../model/tally.ts';
import { bucketValues, type HourRow } from '../rows/buckets.ts';
import { type CameraRow, cameraWrite, EMPTY_CAMERA } from '../rows/camera-row.ts';
import { type DayRow, dayWrite, EMPTY_DAY, hasRoom, stripedWrite } from '../rows/day-row.ts';
import { type EventRow, eventWrite } from '../rows/event-row.ts';
import { cameraCounter, counterKey, type EventKey, hourCounter } from '../rows/keys.ts';
import { MAX_TALLY_CATEGORIES } from '../rows/properties.ts';
import type { KeyedMessage, Outcome } from './batch.ts';
import { addChanges, type Change, type Counters } from './counters.ts';

/** A row with the version that it was read at or written with. */
export interface Versioned<Row> {
  readonly value: Row;
  readonly etag: string;
}

/** What stripe 0 says, for a commit to another stripe: it has no `day` row; it does not tell readers of other stripes; or it does. */
export type FirstStripe = 'missing' | 'alone' | 'striped';

/** What a commit needs of the rows of a shard. A row that is not in a map is not stored. */
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
 * What to write for messages about events of one shard and day: their event rows, and the differences that they make to the
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
  const counters = addChanges(snapshot, countersOf(snapshot), draft.changes);
  return { outcomes, counters, writes: writesOf(snapshot, draft, counters) };
};

const countersOf = ({ day, hours, cameras }: Snapshot): Counters => ({
  day: day?.value ?? EMPTY_DAY,
  hours: valuesOf(hours),
  cameras: valuesOf(cameras),
});

const valuesOf = <Key, Row>(rows: ReadonlyMap<Key, Versioned<Row>>): ReadonlyMap<Key, Row> =>
  new Map(Array.from(rows, ([key, { value }]) => [key, value]));

const writesOf = (
  { stripe, ...before }: Snapshot,
  { changes, events }: Draft,
  { day, hours, cameras }: Counters,
): readonly StoringWrite[] => {
  const writes = [dayWrite(stripe, before.day, day, hours.keys())];
  for (const [hour, some] of Map.groupBy(changes, ({ minute }) => hourOf(minute))) {
    const minutes = some.map(({ minute }) => minuteOfHour(minute));
    const key = counterKey(hourCounter(hour), stripe);
    writes.push(writeOf(key, before.hours.get(hour)?.etag, bucketValues(hours.get(hour) ?? new Map(), minutes)));
  }
  for (const [cameraId, some] of Map.groupBy(changes, (change) => change.cameraId)) {
    const changed = some.map(({ minute }) => hourOf(minute));
    const key = counterKey(cameraCounter(cameraId), stripe);
    writes.push(cameraWrite(key, before.cameras.get(cameraId)?.etag, cameras.get(cameraId) ?? EMPTY_CAMERA, changed));
  }
  for (const [key, event] of events) writes.push(eventWrite(key, before.events.get(key)?.etag, event));
  // Before another stripe has a count, stripe 0 must tell readers. A new stripe says it again: the table may have been emptied.
  if (stripe !== 0 && (before.day === undefined || before.firstStripe !== 'striped')) {
    writes.push(stripedWrite(before.firstStripe !== 'missing'));
  }
  return writes;
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
