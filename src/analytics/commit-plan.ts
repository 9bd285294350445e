import { addToBucket, bucketsWrite, NO_BUCKETS, type Buckets } from './bucket-row.ts';
import type { EventMessage } from './camera-event.ts';
import { withCameras } from './camera-list.ts';
import { addToCamera, cameraWrite, emptyCameraDay, type CameraDay } from './camera-row.ts';
import { Draft, type Change, type Outcome } from './commit-draft.ts';
import { intoMinute, minuteOfDay } from './day.ts';
import { eventWrite } from './event-row.ts';
import { hourKey, HOURS_KEY } from './keys.ts';
import { addMoments, momentsWrite, NO_MOMENTS, type Moment, type Moments } from './moment-row.ts';
import type { KnownEvent, ShardView } from './shard-view.ts';
import type { RowWrite } from './table.ts';
import { EMPTY_TALLY, plus, sumOf, type Tally } from './tally.ts';
import { EMPTY_TOTAL, totalWrites, type ShardTotal } from './total-row.ts';

/** One transaction: what each message comes to, the writes, and what the rows will hold once they are applied. */
export interface CommitPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
  /** Empty where nothing changes. The `total` row is first: a stale plan fails at once. */
  readonly writes: readonly RowWrite[];
  readonly total: ShardTotal;
  readonly hours: Buckets;
  readonly minutes: ReadonlyMap<number, Buckets>;
  readonly moments: ReadonlyMap<number, Moments>;
  readonly cameras: ReadonlyMap<string, CameraDay>;
  readonly events: ReadonlyMap<string, KnownEvent>;
}

/** Differences to a camera's day, by minute of the day. */
type CameraChanges = ReadonlyMap<number, Tally>;

const changesByCamera = (changes: readonly Change[]): ReadonlyMap<string, CameraChanges> => {
  const byCamera = new Map<string, Map<number, Tally>>();
  for (const { message, difference } of changes) {
    const minute = minuteOfDay(message.ts);
    const byMinute = byCamera.get(message.cameraId) ?? new Map<number, Tally>();
    byMinute.set(minute, plus(byMinute.get(minute) ?? EMPTY_TALLY, difference));
    byCamera.set(message.cameraId, byMinute);
  }
  return byCamera;
};

const momentsByMinute = (
  changes: readonly Change[],
  places: ReadonlyMap<string, number>,
): ReadonlyMap<number, readonly Moment[]> => {
  const byMinute = new Map<number, Moment[]>();
  for (const { message, difference } of changes) {
    const minute = minuteOfDay(message.ts);
    const moments = byMinute.get(minute) ?? [];
    moments.push({ at: intoMinute(message.ts), place: places.get(message.cameraId) ?? 0, tally: difference });
    byMinute.set(minute, moments);
  }
  return byMinute;
};

const hoursOf = (changes: CameraChanges): ReadonlySet<number> =>
  new Set([...changes.keys()].map((minute) => Math.floor(minute / 60)));

/**
 * What to write for messages about events of one shard and day, given what its rows hold: event rows, the counters of
 * their cameras, minutes and hours, and the total, all in one transaction. Pure; counters get differences, never absolutes.
 *
 * @param messages in the order of arrival; messages about one event are folded
 */
export const planCommit = (view: ShardView, messages: readonly EventMessage[]): CommitPlan => {
  const draft = new Draft(view);
  for (const message of messages) draft.take(message);
  const { outcomes, events, changes } = draft;
  const stored: ShardTotal = view.total ?? EMPTY_TOTAL;
  const storedHours = view.hours?.value ?? NO_BUCKETS;
  const nothing = { minutes: new Map(), moments: new Map(), cameras: new Map() };
  if (events.size === 0) return { ...nothing, outcomes, writes: [], total: stored, hours: storedHours, events };

  const byCamera = changesByCamera(changes);
  const list = withCameras(stored.cameras, byCamera.keys());
  const cameras = new Map<string, CameraDay>();
  const cameraWrites: RowWrite[] = [];
  for (const [cameraId, ofCamera] of byCamera) {
    const before = view.cameras.get(cameraId);
    let camera = before?.value ?? emptyCameraDay(list.places.get(cameraId) ?? 0);
    for (const [minute, difference] of ofCamera) camera = addToCamera(camera, minute, difference);
    cameras.set(cameraId, camera);
    cameraWrites.push(cameraWrite(cameraId, before?.etag, camera, hoursOf(ofCamera)));
  }

  const tally = plus(stored.tally, sumOf(changes.map(({ difference }) => difference)));
  const total: ShardTotal = { tally, cameras: list };
  const categories = [...tally.categories.keys()];
  let hours = storedHours;
  const minutes = new Map<number, Buckets>();
  const moments = new Map<number, Moments>();
  const minutesOfHours = new Map<number, number[]>();
  const momentWrites: RowWrite[] = [];
  for (const [minute, ofMinute] of momentsByMinute(changes, list.places)) {
    const hour = Math.floor(minute / 60);
    const difference = sumOf(ofMinute.map((moment) => moment.tally));
    const places = ofMinute.map(({ place }) => place);
    const ofHour = minutes.get(hour) ?? view.minutes.get(hour)?.value ?? NO_BUCKETS;
    hours = addToBucket(hours, hour, difference, places, categories);
    minutes.set(hour, addToBucket(ofHour, minute % 60, difference, places, categories));
    minutesOfHours.set(hour, [...(minutesOfHours.get(hour) ?? []), minute % 60]);
    const before = view.moments.get(minute);
    const after = addMoments(before?.value ?? NO_MOMENTS, ofMinute, categories);
    moments.set(minute, after);
    momentWrites.push(momentsWrite(minute, before?.etag, after, ofMinute));
  }

  return {
    outcomes,
    total,
    hours,
    minutes,
    moments,
    cameras,
    events,
    writes: [
      ...totalWrites(view.total, total),
      bucketsWrite(HOURS_KEY, view.hours?.etag, hours, minutesOfHours.keys()),
      ...[...minutesOfHours].map(([hour, changed]) =>
        bucketsWrite(hourKey(hour), view.minutes.get(hour)?.etag, minutes.get(hour) ?? NO_BUCKETS, changed),
      ),
      ...momentWrites,
      ...cameraWrites,
      ...[...events].map(([key, event]) => eventWrite(key, view.events.get(key)?.etag, event.ts, event.facets)),
    ],
  };
};
