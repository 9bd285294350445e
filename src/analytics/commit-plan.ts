import { applyFacets, categoriesOf, contributionOf, type EventMessage, type Facets } from './camera-event.ts';
import { MAX_CAMERAS_PER_SHARD, withCameras } from './camera-list.ts';
import { addToCamera, cameraWrite, EMPTY_CAMERA_DAY, MAX_CAMERA_CATEGORIES, type CameraDay } from './camera-row.ts';
import { minuteOfDay } from './day.ts';
import { eventKeyOf, eventWrite } from './event-row.ts';
import { addToHour, EMPTY_HOUR, hourWrite, type ShardHour } from './hour-row.ts';
import type { Instant } from './instant.ts';
import type { RowWrite } from './table.ts';
import { MAX_TALLY_CATEGORIES } from './tally-text.ts';
import { EMPTY_TALLY, minus, plus, type Tally } from './tally.ts';
import { addToTotal, EMPTY_TOTAL, totalWrites, type ShardTotal, type StoredTotal } from './total-row.ts';

/** What became of a message: it counted something new, it changed nothing, or it can never be taken, and why. */
export type Outcome = 'recorded' | 'unchanged' | { readonly refused: string };

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
  readonly hours: ReadonlyMap<number, Versioned<ShardHour>>;
  readonly cameras: ReadonlyMap<string, KnownCamera>;
  /** By row key. */
  readonly events: ReadonlyMap<string, Versioned<KnownEvent>>;
}

/** One transaction: what each message comes to, the writes, and what the rows will hold once they are applied. */
export interface CommitPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
  /** Empty where nothing changes. The `total` row is first: a stale plan fails at once. */
  readonly writes: readonly RowWrite[];
  readonly total: ShardTotal;
  readonly hours: ReadonlyMap<number, ShardHour>;
  readonly cameras: ReadonlyMap<string, CameraDay>;
  readonly events: ReadonlyMap<string, KnownEvent>;
}

/** Differences by minute of the day. */
type Differences = Map<number, Tally>;

const addDifference = (to: Differences, minute: number, difference: Tally): void => {
  to.set(minute, plus(to.get(minute) ?? EMPTY_TALLY, difference));
};

const hoursOf = (differences: Differences): ReadonlySet<number> =>
  new Set([...differences.keys()].map((minute) => Math.floor(minute / 60)));

/** Works out what messages do to the events they are about, and the differences that this makes to the counters. */
class Draft {
  readonly outcomes: Outcome[] = [];
  readonly events = new Map<string, KnownEvent>();
  readonly byCamera = new Map<string, Differences>();
  readonly #view: ShardView;
  readonly #categories: Set<string>;
  readonly #cameraCategories = new Map<string, Set<string>>();
  #newCameras = 0;

  constructor(view: ShardView) {
    this.#view = view;
    this.#categories = new Set(view.total?.tally.categories.keys());
  }

  take(message: EventMessage): void {
    this.outcomes.push(this.#outcomeOf(message));
  }

  #outcomeOf(message: EventMessage): Outcome {
    const key = eventKeyOf(message);
    const before = this.events.get(key) ?? this.#view.events.get(key)?.value;
    if (before !== undefined && before.ts !== message.ts) {
      return { refused: 'data.ts_utc is not the one that this event of this camera was first reported with' };
    }
    const facets = applyFacets(before?.facets ?? {}, message.facets);
    if (before !== undefined && facets === before.facets) return 'unchanged';
    const refused = this.#claimRoom(message.cameraId, facets);
    if (refused !== undefined) return { refused };

    this.events.set(key, { ts: message.ts, facets });
    const difference = minus(
      contributionOf(facets),
      before === undefined ? EMPTY_TALLY : contributionOf(before.facets),
    );
    const ofCamera = this.byCamera.get(message.cameraId) ?? new Map<number, Tally>();
    addDifference(ofCamera, minuteOfDay(message.ts), difference);
    this.byCamera.set(message.cameraId, ofCamera);
    return 'recorded';
  }

  /** Takes up room for categories and camera; says what there is no room for, and then takes nothing. */
  #claimRoom(cameraId: string, facets: Facets): string | undefined {
    const known = this.#view.cameras.get(cameraId)?.value.tally.categories.keys() ?? [];
    const ofCamera = this.#cameraCategories.get(cameraId) ?? new Set(known);
    const more = [...categoriesOf(facets)];
    const moreOfCamera = more.filter((category) => !ofCamera.has(category));
    if (ofCamera.size + moreOfCamera.length > MAX_CAMERA_CATEGORIES) {
      return `the camera would have more than ${MAX_CAMERA_CATEGORIES} categories in one day`;
    }
    const moreOfShard = more.filter((category) => !this.#categories.has(category));
    if (this.#categories.size + moreOfShard.length > MAX_TALLY_CATEGORIES) {
      return `the cameras together would have more than ${MAX_TALLY_CATEGORIES} categories in one shard of the day`;
    }
    const list = this.#view.total?.cameras;
    const isNew = list?.places.has(cameraId) !== true && !this.byCamera.has(cameraId);
    if (isNew && (list?.ids.length ?? 0) + this.#newCameras >= MAX_CAMERAS_PER_SHARD) {
      return `more than ${MAX_CAMERAS_PER_SHARD} cameras would be active in one shard of the day`;
    }
    if (isNew) this.#newCameras += 1;
    for (const category of moreOfCamera) ofCamera.add(category);
    for (const category of moreOfShard) this.#categories.add(category);
    this.#cameraCategories.set(cameraId, ofCamera);
    return undefined;
  }
}

/**
 * What to write for messages about events of one shard and day, given what its rows hold: event rows, the counters of
 * their cameras and hours, and the total, all in one transaction. Pure; counters get differences, never absolutes.
 *
 * @param messages in the order of arrival; messages about one event are folded
 */
export const planCommit = (view: ShardView, messages: readonly EventMessage[]): CommitPlan => {
  const draft = new Draft(view);
  for (const message of messages) draft.take(message);
  const { outcomes, events, byCamera } = draft;
  const stored: ShardTotal = view.total ?? EMPTY_TOTAL;
  if (events.size === 0) {
    return { outcomes, writes: [], total: stored, hours: new Map(), cameras: new Map(), events };
  }

  const list = withCameras(stored.cameras, byCamera.keys());
  const cameras = new Map<string, CameraDay>();
  const cameraWrites: RowWrite[] = [];
  const byMinute = new Map<number, { difference: Tally; places: number[] }>();
  for (const [cameraId, differences] of byCamera) {
    const before = view.cameras.get(cameraId);
    let camera = before?.value ?? EMPTY_CAMERA_DAY;
    for (const [minute, difference] of differences) {
      camera = addToCamera(camera, minute, difference);
      const ofMinute = byMinute.get(minute) ?? { difference: EMPTY_TALLY, places: [] };
      ofMinute.difference = plus(ofMinute.difference, difference);
      ofMinute.places.push(list.places.get(cameraId) ?? 0);
      byMinute.set(minute, ofMinute);
    }
    cameras.set(cameraId, camera);
    cameraWrites.push(cameraWrite(cameraId, before?.etag, camera, hoursOf(differences)));
  }

  let total: ShardTotal = { ...stored, cameras: list };
  for (const [minute, { difference }] of byMinute) {
    total = addToTotal(total, difference, 1 << Math.floor(minute / 60));
  }
  const categories = [...total.tally.categories.keys()];
  const hours = new Map<number, ShardHour>();
  const minutes = new Map<number, number[]>();
  for (const [minute, { difference, places }] of byMinute) {
    const hour = Math.floor(minute / 60);
    const ofHour = hours.get(hour) ?? view.hours.get(hour)?.value ?? EMPTY_HOUR;
    hours.set(hour, addToHour(ofHour, minute % 60, difference, places, categories));
    minutes.set(hour, [...(minutes.get(hour) ?? []), minute % 60]);
  }

  return {
    outcomes,
    total,
    hours,
    cameras,
    events,
    writes: [
      ...totalWrites(view.total, total),
      ...[...hours].map(([hour, state]) => hourWrite(hour, view.hours.get(hour)?.etag, state, minutes.get(hour) ?? [])),
      ...cameraWrites,
      ...[...events].map(([key, event]) => eventWrite(key, view.events.get(key)?.etag, event.ts, event.facets)),
    ],
  };
};
