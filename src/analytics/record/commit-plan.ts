import { ANY_VERSION, decodingRow, type NewProperties, type StoringWrite, writeOf } from '../../storage/row.ts';
import { WriteConflict } from '../../storage/errors.ts';
import { contributionOf, type EventMessage, type Facets, MAX_CAMERA_CATEGORIES } from '../model/camera-event.ts';
import { type Hour, hourOf, minuteOfDay, minuteOfHour, type MinuteOfDay, type MinuteOfHour } from '../model/day.ts';
import { applyFacets, isSuperseded } from '../model/newest-wins.ts';
import { type DayTally, differenceOf, sumOf } from '../model/tally.ts';
import { addToBucket, type Buckets, bucketValues, type HourRow } from '../rows/buckets.ts';
import { addToCamera, type CameraRow, cameraValues, EMPTY_CAMERA } from '../rows/camera-row.ts';
import { type DayRow, dayValues, EMPTY_DAY, hasRoom, stateWrite, STRIPED_PROPERTIES } from '../rows/day-row.ts';
import { type EventRow, eventValues } from '../rows/event-row.ts';
import {
  cameraCounter,
  counterKey,
  type CounterKey,
  DAY_00,
  DAY_COUNTER,
  eventKey,
  type EventKey,
  hourCounter,
} from '../rows/keys.ts';
import { MAX_TALLY_CATEGORIES } from '../rows/properties.ts';

/**
 * The result of a message: it was counted; it changed nothing, because it was repeated or because a newer value had superseded it; or it can
 * never be recorded, and why.
 */
export type Outcome = 'recorded' | 'unchanged' | 'superseded' | Refused;

/** Why a message can never be recorded. */
export interface Refused {
  readonly code: 'changed_time' | 'day_closed' | 'too_many' | 'not_storable';
  readonly refused: string;
}

/** A message with the keys of its rows, computed once. */
export interface KeyedMessage {
  readonly message: EventMessage;
  readonly minute: MinuteOfDay;
  readonly eventKey: EventKey;
}

export const keyed = (message: EventMessage): KeyedMessage => {
  const minute = minuteOfDay(message.ts);
  return { message, minute, eventKey: eventKey(minute, message.cameraId, message.eventId) };
};

/** The counter rows of a stripe: its day, and hours and cameras. */
export interface Counters {
  readonly day: DayRow;
  readonly hours: ReadonlyMap<Hour, HourRow>;
  readonly cameras: ReadonlyMap<string, CameraRow>;
}

/** The state of stripe 0, for a commit to another stripe: without a `day` row; not striped; or striped, so that readers read all stripes. */
export type FirstStripe = 'missing' | 'alone' | 'striped';

/** The rows of a shard that a commit needs. A row that is not in a map is not stored. */
export interface Snapshot extends Omit<Counters, 'day'> {
  readonly partition: string;
  /** The stripe that the commit writes to. */
  readonly stripe: number;
  /** The `day` row of the stripe; undefined: the commit inserts it. */
  readonly day: DayRow | undefined;
  readonly events: ReadonlyMap<EventKey, EventRow>;
  /** The version of each row, by its key. */
  readonly etags: ReadonlyMap<string, string>;
  readonly firstStripe: FirstStripe;
}

/** One transaction: the outcome of each message, the writes (none if nothing changes), and the counter rows once they are applied. */
export interface CommitPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
  /** The `day` row of the stripe is first: if another writer was in the stripe, the transaction fails there. The `day` row of stripe 0 is last. */
  readonly writes: readonly StoringWrite[];
  /** The day, and the hours and cameras that changed; undefined if nothing changes. */
  readonly counters: Counters | undefined;
}

/**
 * The writes for messages about events of one shard and day: their event rows, and the differences that they make to the
 * counters of a stripe, in one transaction. Pure.
 *
 * @param messages in the order of arrival; messages about the same event are folded
 * @param configuredCategories the categories that always find room
 * @throws {WriteConflict} if the rows of the snapshot do not fit together: another process committed between the reads
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
  { partition, stripe, firstStripe, etags, ...before }: Snapshot,
  { changes, events, cameras: indexes }: Draft,
): Omit<CommitPlan, 'outcomes'> => {
  const writes: StoringWrite[] = [];
  const write = (rowKey: string, values: NewProperties): void => {
    writes.push(writeOf(rowKey, etags.get(rowKey), values));
  };
  /** A changed row, if the row before and the `day` row fit together. */
  const fitting = <Row>(rowKey: CounterKey, change: () => Row | undefined): Row => {
    const row = decodingRow({ partitionKey: partition, rowKey }, change);
    if (row === undefined) throw new WriteConflict();
    return row;
  };
  const old = before.day ?? EMPTY_DAY;
  const tally = sumOf([old.tally, ...changes.map(({ difference }) => difference)]);
  const categories = [...tally.categories.keys()];
  const addTo = <Number extends Hour | MinuteOfHour>(
    rowKey: CounterKey,
    buckets: Buckets<Number>,
    changesOf: ReadonlyMap<Number, readonly Change[]>,
  ): Buckets<Number> =>
    fitting(rowKey, () => {
      let after: Buckets<Number> | undefined = buckets;
      for (const [number, some] of changesOf) {
        const difference = sumOf(some.map((change) => change.difference));
        const active = some.flatMap(({ cameraId }) => indexes.get(cameraId) ?? []);
        after = after && addToBucket(after, number, difference, active, categories);
      }
      return after;
    });

  const byHour = Map.groupBy(changes, ({ minute }) => hourOf(minute));
  const dayKey = counterKey(DAY_COUNTER, stripe);
  const day = { tally, cameras: indexes, hours: addTo(dayKey, old.hours, byHour) };
  write(dayKey, dayValues(day, before.day, byHour.keys()));
  const hours = new Map<Hour, HourRow>();
  for (const [hour, some] of byHour) {
    const byMinute = Map.groupBy(some, ({ minute }) => minuteOfHour(minute));
    const rowKey = counterKey(hourCounter(hour), stripe);
    const row = addTo(rowKey, before.hours.get(hour) ?? new Map(), byMinute);
    hours.set(hour, row);
    write(rowKey, bucketValues(row, byMinute.keys()));
  }
  const cameras = new Map<string, CameraRow>();
  for (const [cameraId, some] of Map.groupBy(changes, (change) => change.cameraId)) {
    const stored = before.cameras.get(cameraId);
    const rowKey = counterKey(cameraCounter(cameraId), stripe);
    const row = fitting(rowKey, () => addToCamera(stored ?? EMPTY_CAMERA, some));
    cameras.set(cameraId, row);
    const changedHours = some.map(({ minute }) => hourOf(minute));
    write(rowKey, cameraValues(row, stored, changedHours));
  }
  for (const [key, event] of events) write(key, eventValues(event));
  // Before another stripe has counts, stripe 0 must say that it is striped, because readers check that. A new stripe writes it again: the table may
  // have been emptied.
  if (stripe !== 0 && (before.day === undefined || firstStripe !== 'striped')) {
    writes.push(stateWrite(DAY_00, firstStripe === 'missing' ? undefined : ANY_VERSION, STRIPED_PROPERTIES));
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
  readonly #cameras: ReadonlyMap<string, number>;
  /** A copy of the list, once it has a new camera. */
  #longer: Map<string, number> | undefined;
  readonly #categories: Set<string>;
  /** The categories of each camera whose events changed. */
  readonly #cameraCategories = new Map<string, Set<string>>();

  constructor(snapshot: Snapshot, configured: ReadonlySet<string>) {
    const { tally, cameras } = snapshot.day ?? EMPTY_DAY;
    this.#snapshot = snapshot;
    this.#configured = configured;
    this.#cameras = cameras;
    this.#categories = new Set(tally.categories.keys());
  }

  /** The index of each camera of the stripe, new cameras included. */
  get cameras(): ReadonlyMap<string, number> {
    return this.#longer ?? this.#cameras;
  }

  take({ message, minute, eventKey: key }: KeyedMessage): Outcome {
    const { cameraId, ts } = message;
    const before = this.events.get(key) ?? this.#snapshot.events.get(key);
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
    this.events.set(key, { ts, facets });
    this.changes.push({ cameraId, minute, difference });
    return 'recorded';
  }

  /** Reserves room for the camera and the categories of a difference. Without room, reserves nothing and returns the reason. */
  #reserve(cameraId: string, { categories }: DayTally): string | undefined {
    const stored = this.#snapshot.cameras.get(cameraId)?.tally.categories;
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
    if (!this.cameras.has(cameraId)) {
      if (!hasRoom(this.cameras, cameraId))
        return 'more cameras would be active than one shard of the day has room for';
      this.#longer ??= new Map(this.#cameras);
      this.#longer.set(cameraId, this.#longer.size);
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
