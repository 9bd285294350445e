import { addToBucket, bucketsWrite, NO_BUCKETS, type Buckets } from '../rows/bucket-row.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { withCameras } from '../rows/camera-list.ts';
import { addToCamera, cameraWrite, emptyCameraDay, type CameraDay } from '../rows/camera-row.ts';
import { Draft, type Change, type Outcome } from './commit-draft.ts';
import { hourOfMinute, intoMinute, minuteOfDay } from '../model/day.ts';
import { eventWrite } from '../rows/event-row.ts';
import { grouped } from '../grouped.ts';
import { hourKey, HOURS_KEY } from '../rows/keys.ts';
import { addMoments, momentsWrite, NO_MOMENTS, type Moment, type Moments } from '../rows/minute-row.ts';
import type { KnownEvent, ShardView } from './shard-snapshot.ts';
import type { RowWrite } from '../rows/table.ts';
import { addTo, EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { EMPTY_TOTAL, totalWrites, type ShardTotal } from '../rows/total-row.ts';

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

/** What changes add to a camera's day, by minute of the day. */
const byMinuteOfDay = (changes: readonly Change[]): ReadonlyMap<number, Tally> => {
  const byMinute = new Map<number, Tally>();
  for (const { message, difference } of changes) addTo(byMinute, minuteOfDay(message.ts), difference);
  return byMinute;
};

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

  const byCamera = grouped(changes, ({ message }) => message.cameraId);
  const list = withCameras(stored.cameras, byCamera.keys());
  const cameras = new Map<string, CameraDay>();
  const cameraWrites: RowWrite[] = [];
  for (const [cameraId, ofCamera] of byCamera) {
    const differences = byMinuteOfDay(ofCamera);
    const before = view.cameras.get(cameraId);
    let camera = before?.value ?? emptyCameraDay(list.places.get(cameraId) ?? 0);
    for (const [minute, difference] of differences) camera = addToCamera(camera, minute, difference);
    cameras.set(cameraId, camera);
    cameraWrites.push(cameraWrite(cameraId, before?.etag, camera, new Set([...differences.keys()].map(hourOfMinute))));
  }

  const tally = plus(stored.tally, sumOf(changes.map(({ difference }) => difference)));
  const total: ShardTotal = { tally, cameras: list };
  const categories = [...tally.categories.keys()];
  const placeOf = ({ message }: Change): number => list.places.get(message.cameraId) ?? 0;
  const byMinute = grouped(changes, ({ message }) => minuteOfDay(message.ts));
  let hours = storedHours;
  const minutes = new Map<number, Buckets>();
  const moments = new Map<number, Moments>();
  const hourWrites: RowWrite[] = [];
  const momentWrites: RowWrite[] = [];
  for (const [hour, ofHour] of grouped(byMinute, ([minute]) => hourOfMinute(minute))) {
    const known = view.minutes.get(hour);
    let buckets = known?.value ?? NO_BUCKETS;
    let sum = EMPTY_TALLY;
    for (const [minute, ofMinute] of ofHour) {
      const difference = sumOf(ofMinute.map((change) => change.difference));
      sum = plus(sum, difference);
      buckets = addToBucket(buckets, minute % 60, difference, ofMinute.map(placeOf), categories);
      const added = ofMinute.map((change): Moment => {
        return { at: intoMinute(change.message.ts), place: placeOf(change), tally: change.difference };
      });
      const before = view.moments.get(minute);
      const after = addMoments(before?.value ?? NO_MOMENTS, added, categories);
      moments.set(minute, after);
      momentWrites.push(momentsWrite(minute, before?.etag, after, added));
    }
    const places = ofHour.flatMap(([, ofMinute]) => ofMinute.map(placeOf));
    hours = addToBucket(hours, hour, sum, places, categories);
    minutes.set(hour, buckets);
    const changed = ofHour.map(([minute]) => minute % 60);
    hourWrites.push(bucketsWrite(hourKey(hour), known?.etag, buckets, changed));
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
      bucketsWrite(HOURS_KEY, view.hours?.etag, hours, minutes.keys()),
      ...hourWrites,
      ...momentWrites,
      ...cameraWrites,
      ...[...events].map(([key, event]) => eventWrite(key, view.events.get(key)?.etag, event.ts, event.facets)),
    ],
  };
};
