import { microsecondOfMinute } from '../model/day.ts';
import { addTo, EMPTY_TALLY, plus, type Tally } from '../model/tally.ts';
import type { Sample } from '../rows/minute-row.ts';
import type { KeyedMessage } from './batch.ts';

/**
 * A counter of a shard's day: of all cameras or of one, for the day, an hour or a minute of it. What one camera sent at one microsecond is
 * a sample.
 */
export interface Counter {
  readonly cameraId?: string | undefined;
  /** Of the day, 0 to 23. */
  readonly hour?: number;
  /** Of the day, 0 to 1439. Its hour is not said. */
  readonly minute?: number | undefined;
  /** Of the minute, 0 to 59,999,999; only of a sample. */
  readonly microsecond?: number;
}

/** What is added to an hour or a minute of a shard. */
export interface BucketDifference {
  tally: Tally;
  /** The cameras that become active in it. */
  readonly cameras: string[];
}

/** What one camera's sample of one microsecond is changed by. */
interface SampleDifference extends Omit<Sample, 'cameraIndex'> {
  readonly cameraId: string;
}

/**
 * Differences to the counters of a shard, each counter by itself. Those of an event agree with one another; those that mend
 * a damaged counter need not.
 */
export class CounterDifferences {
  day = EMPTY_TALLY;
  /** By hour of the day, 0 to 23. */
  readonly hours = new Map<number, BucketDifference>();
  /** By minute of the day, 0 to 1439. */
  readonly minutes = new Map<number, BucketDifference>();
  /** By minute of the day. */
  readonly samples = new Map<number, SampleDifference[]>();
  /** The cameras that the differences name. */
  readonly cameraIds = new Set<string>();
  /** By camera id, and then by hour and minute of the day. */
  readonly cameras = new Map<string, { day: Tally; hours: Map<number, Tally>; minutes: Map<number, Tally> }>();

  /** Adds the difference that a message makes to every counter of its event. */
  addEvent({ message: { ts, cameraId }, minute, hour }: KeyedMessage, difference: Tally): void {
    this.add({}, difference);
    this.add({ hour }, difference, [cameraId]);
    this.add({ minute }, difference, [cameraId]);
    this.add({ cameraId, minute, microsecond: microsecondOfMinute(ts) }, difference);
    this.add({ cameraId }, difference);
    this.add({ cameraId, hour }, difference);
    this.add({ cameraId, minute }, difference);
  }

  /** @param active cameras that become active, of a counter of all cameras */
  add({ cameraId, hour, minute, microsecond }: Counter, tally: Tally, active: Iterable<string> = []): void {
    for (const id of cameraId === undefined ? active : [cameraId]) this.cameraIds.add(id);
    if (cameraId === undefined) {
      if (minute !== undefined) addToBucket(this.minutes, minute, tally, active);
      else if (hour !== undefined) addToBucket(this.hours, hour, tally, active);
      else this.day = plus(this.day, tally);
    } else if (minute !== undefined && microsecond !== undefined) {
      const ofMinute = this.samples.get(minute) ?? [];
      ofMinute.push({ microsecond, cameraId, tally });
      this.samples.set(minute, ofMinute);
    } else {
      const camera = this.cameras.get(cameraId) ?? { day: EMPTY_TALLY, hours: new Map(), minutes: new Map() };
      this.cameras.set(cameraId, camera);
      if (minute !== undefined) addTo(camera.minutes, minute, tally);
      else if (hour !== undefined) addTo(camera.hours, hour, tally);
      else camera.day = plus(camera.day, tally);
    }
  }
}

const addToBucket = (
  buckets: Map<number, BucketDifference>,
  number: number,
  tally: Tally,
  cameras: Iterable<string>,
): void => {
  const bucket = buckets.get(number);
  if (bucket === undefined) {
    buckets.set(number, { tally, cameras: [...cameras] });
  } else {
    bucket.tally = plus(bucket.tally, tally);
    bucket.cameras.push(...cameras);
  }
};
