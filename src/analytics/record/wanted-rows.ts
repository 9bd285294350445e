import { categoriesOf } from '../model/camera-event.ts';
import { hourOfMinute } from '../model/day.ts';
import { hoursOf } from '../rows/camera-row.ts';
import { minuteKey } from '../rows/keys.ts';
import { secondOf } from '../rows/minute-row.ts';
import type { Candidate } from './batch.ts';
import type { CounterDifferences } from './counter-differences.ts';

/** The rows of a shard that a commit needs. */
export interface WantedRows {
  /** Hours of the day, 0 to 23. */
  readonly hours: ReadonlySet<number>;
  /** The key of each half of a minute → the minute of the day, 0 to 1439. */
  readonly halfMinutes: ReadonlyMap<string, number>;
  /** By camera id: the hours, and the categories that it may get. */
  readonly cameras: ReadonlyMap<string, WantedCamera>;
  /** The key of each event that is read first → its minute of the day and its camera. */
  readonly events: ReadonlyMap<string, { readonly minute: number; readonly cameraId: string }>;
  /** The keys of the other events: those rows are taken from memory only. */
  readonly inserted: readonly string[];
}

/** What is wanted of a camera's row. */
export interface WantedCamera {
  readonly hours: ReadonlySet<number>;
  readonly categories: ReadonlySet<string>;
}

/**
 * The rows that messages need.
 *
 * @param readAll whether no event is inserted without reading first
 */
export const wantedByMessages = (candidates: readonly Candidate[], readAll: boolean): WantedRows => {
  const cameras = new Map<string, { hours: Set<number>; categories: Set<string> }>();
  for (const { message, hour } of candidates) {
    const camera = cameras.get(message.cameraId) ?? { hours: new Set(), categories: new Set() };
    cameras.set(message.cameraId, camera);
    camera.hours.add(hour);
    for (const category of categoriesOf(message.facets)) camera.categories.add(category);
  }
  const [read, inserted] = [true, false].map((first) =>
    candidates.filter(({ readFirst }) => (readFirst || readAll) === first),
  );
  return {
    hours: new Set(candidates.map(({ hour }) => hour)),
    halfMinutes: new Map(candidates.map(({ minuteKey: key, minute }) => [key, minute])),
    cameras,
    events: new Map(
      (read ?? []).map(({ eventKey, minute, message }) => [eventKey, { minute, cameraId: message.cameraId }]),
    ),
    inserted: (inserted ?? []).map(({ eventKey }) => eventKey),
  };
};

/** The rows that differences to counters need. */
export const wantedByDifferences = ({ hours, minutes, samples, cameras }: CounterDifferences): WantedRows => ({
  hours: new Set([...hours.keys(), ...[...minutes.keys(), ...samples.keys()].map(hourOfMinute)]),
  halfMinutes: new Map(
    [...samples].flatMap(([minute, own]) =>
      own.map(({ microsecond }) => [minuteKey(minute, secondOf(microsecond)), minute] as const),
    ),
  ),
  cameras: new Map(
    Array.from(cameras, ([cameraId, difference]) => [
      cameraId,
      { hours: hoursOf(difference), categories: new Set<string>() },
    ]),
  ),
  events: new Map(),
  inserted: [],
});
