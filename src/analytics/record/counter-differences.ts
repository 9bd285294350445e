import { microsecondOfMinute } from '../model/day.ts';
import { addTo, sumOf, type Tally } from '../model/tally.ts';
import type { CameraDifference } from '../rows/camera-row.ts';
import type { Change } from './commit-draft.ts';

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
