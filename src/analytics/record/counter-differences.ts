import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { addTo, EMPTY_TALLY, minus, plus, sumOf, type Tally } from '../model/tally.ts';
import type { CameraDifference } from '../rows/camera-row.ts';
import type { KeyedMessage } from './batch.ts';

/** The difference that a message makes to every counter of its event. */
export interface Change {
  readonly keyed: Pick<KeyedMessage, 'minute' | 'hour'> & {
    readonly message: Pick<KeyedMessage['message'], 'ts' | 'cameraId'>;
  };
  readonly difference: Tally;
}

/** What is added to an hour or a minute of a shard. */
export interface BucketDifference {
  readonly tally: Tally;
  /** The cameras that become active in it. */
  readonly cameras: readonly string[];
}

/** What one camera's sample of one microsecond is changed by. */
export interface SampleDifference {
  /** Of the minute, 0 to 59,999,999. */
  readonly microsecond: number;
  readonly cameraId: string;
  readonly tally: Tally;
}

/**
 * Differences to the counters of a shard, each counter by itself. Those of an event agree with one another; those that mend
 * a damaged counter need not.
 */
export interface CounterDifferences {
  readonly day: Tally;
  /** By hour of the day, 0 to 23. */
  readonly hours: ReadonlyMap<number, BucketDifference>;
  /** By minute of the day, 0 to 1439. */
  readonly minutes: ReadonlyMap<number, BucketDifference>;
  /** By minute of the day. */
  readonly samples: ReadonlyMap<number, readonly SampleDifference[]>;
  /** By camera id. */
  readonly cameras: ReadonlyMap<string, CameraDifference>;
  /** Cameras that become active although no other counter here is theirs. */
  readonly listed?: readonly string[];
}

/** The cameras that differences name. */
export const camerasIn = ({ hours, minutes, samples, cameras, listed = [] }: CounterDifferences): ReadonlySet<string> =>
  new Set([
    ...cameras.keys(),
    ...[...hours.values(), ...minutes.values()].flatMap((bucket) => bucket.cameras),
    ...[...samples.values()].flatMap((own) => own.map(({ cameraId }) => cameraId)),
    ...listed,
  ]);

/** The differences that changed events make to every counter. */
export const differencesOf = (changes: readonly Change[]): CounterDifferences => {
  let day = EMPTY_TALLY;
  const hours = new Map<number, GrowingBucket>();
  const minutes = new Map<number, GrowingBucket>();
  const samples = new Map<number, SampleDifference[]>();
  const cameras = new Map<string, GrowingCamera>();
  for (const { keyed, difference } of changes) {
    const { minute, hour, message } = keyed;
    const { ts, cameraId } = message;
    day = plus(day, difference);
    grow(hours, hour, difference, cameraId);
    grow(minutes, minute, difference, cameraId);
    const sample = { microsecond: microsecondOfMinute(ts), cameraId, tally: difference };
    const ofMinute = samples.get(minute);
    if (ofMinute === undefined) samples.set(minute, [sample]);
    else ofMinute.push(sample);
    const camera = cameras.get(cameraId) ?? { day: EMPTY_TALLY, hours: new Map(), minutes: new Map() };
    camera.day = plus(camera.day, difference);
    addTo(camera.hours, hour, difference);
    addTo(camera.minutes, minute, difference);
    cameras.set(cameraId, camera);
  }
  return { day, hours, minutes, samples, cameras };
};

interface GrowingBucket {
  tally: Tally;
  readonly cameras: string[];
}

interface GrowingCamera {
  day: Tally;
  readonly hours: Map<number, Tally>;
  readonly minutes: Map<number, Tally>;
}

const grow = (buckets: Map<number, GrowingBucket>, number: number, tally: Tally, cameraId: string): void => {
  const bucket = buckets.get(number);
  if (bucket === undefined) {
    buckets.set(number, { tally, cameras: [cameraId] });
    return;
  }
  bucket.tally = plus(bucket.tally, tally);
  bucket.cameras.push(cameraId);
};

/** No counts, and the categories of tallies. */
const zerosOf = (tallies: Iterable<Tally>): Tally => {
  const sum = sumOf(tallies);
  return minus(sum, sum);
};

const add = (buckets: Map<number, BucketDifference>, number: number, tally: Tally): void => {
  const before = buckets.get(number) ?? { tally: EMPTY_TALLY, cameras: [] };
  buckets.set(number, { ...before, tally: plus(before.tally, tally) });
};

/**
 * Differences with what the rows above them need. In the rows of a stripe, a category of any counter is in the total, an hour that has
 * minutes in `hours`, and a minute that has samples in its hour's row. The differences of events are like that from the start.
 */
export const completed = (differences: CounterDifferences): CounterDifferences => {
  const { day, samples, cameras, listed = [] } = differences;
  const minutes = new Map(differences.minutes);
  const hours = new Map(differences.hours);
  for (const [minute, own] of samples) add(minutes, minute, zerosOf(own.map(({ tally }) => tally)));
  for (const [minute, { tally }] of minutes) add(hours, hourOfMinute(minute), zerosOf([tally]));
  const ofCameras = Array.from(cameras, ([cameraId, own]): [string, CameraDifference] => [
    cameraId,
    { ...own, day: plus(own.day, zerosOf([...own.hours.values(), ...own.minutes.values()])) },
  ]);
  const all = [...hours.values(), ...ofCameras.map(([, own]) => ({ tally: own.day }))].map(({ tally }) => tally);
  return { day: plus(day, zerosOf(all)), hours, minutes, samples, cameras: new Map(ofCameras), listed };
};
