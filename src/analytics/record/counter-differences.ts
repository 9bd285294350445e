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
  const samples = new Map<number, SampleDifference[]>();
  for (const { keyed, difference } of changes) {
    const ofMinute = samples.get(keyed.minute) ?? [];
    samples.set(keyed.minute, ofMinute);
    const { ts, cameraId } = keyed.message;
    ofMinute.push({ microsecond: microsecondOfMinute(ts), cameraId, tally: difference });
  }
  return {
    day: talliesOf(changes),
    hours: bucketsOf(changes, 'hour'),
    minutes: bucketsOf(changes, 'minute'),
    samples,
    cameras: new Map(
      Array.from(
        Map.groupBy(changes, ({ keyed }) => keyed.message.cameraId),
        ([cameraId, own]) => [cameraId, ofCamera(own)],
      ),
    ),
  };
};

const talliesOf = (changes: readonly Change[]): Tally => sumOf(changes.map(({ difference }) => difference));

const bucketsOf = (changes: readonly Change[], of: 'hour' | 'minute'): ReadonlyMap<number, BucketDifference> =>
  new Map(
    Array.from(
      Map.groupBy(changes, ({ keyed }) => keyed[of]),
      ([number, own]) => [number, { tally: talliesOf(own), cameras: own.map(({ keyed }) => keyed.message.cameraId) }],
    ),
  );

const ofCamera = (changes: readonly Change[]): CameraDifference => {
  const hours = new Map<number, Tally>();
  const minutes = new Map<number, Tally>();
  for (const { keyed, difference } of changes) {
    addTo(hours, keyed.hour, difference);
    addTo(minutes, keyed.minute, difference);
  }
  return { day: talliesOf(changes), hours, minutes };
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
