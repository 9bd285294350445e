import { microsecondOfMinute } from '../model/day.ts';
import { addTo, EMPTY_TALLY, plus, type Tally } from '../model/tally.ts';
import { HOURS_KEY } from '../rows/keys.ts';
import type { Sample } from '../rows/minute-row.ts';
import type { KeyedMessage } from './batch.ts';

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

/** What is added to the row of a camera. */
interface CameraDifferences {
  readonly cameraId: string;
  day: Tally;
  /** By hour of the day, 0 to 23. */
  readonly hours: Map<number, Tally>;
  /** By minute of the day, 0 to 1439. */
  readonly minutes: Map<number, Tally>;
}

/**
 * Differences to the counters of a shard, each counter by itself, by the keys of their rows in stripe 0. Those of an event agree with one
 * another; those that mend a damaged counter need not.
 */
export class CounterDifferences {
  day = EMPTY_TALLY;
  /** The cameras that the differences name. */
  readonly cameraIds = new Set<string>();
  /** The row of the hours, by hour of the day (0 to 23), and the row of each hour, by minute of the hour (0 to 59). */
  readonly buckets = new Map<string, Map<number, BucketDifference>>();
  /** The row of half a minute, with its minute of the day (0 to 1439). */
  readonly samples = new Map<string, { readonly minute: number; readonly differences: SampleDifference[] }>();
  readonly cameras = new Map<string, CameraDifferences>();

  /** Adds the difference that a message makes to every counter of its event. */
  addEvent({ message, minute, hour, minuteKey, hourKey, cameraKey }: KeyedMessage, difference: Tally): void {
    const { ts, cameraId } = message;
    this.day = plus(this.day, difference);
    this.addToBucket(HOURS_KEY, hour, difference, [cameraId]);
    this.addToBucket(hourKey, minute % 60, difference, [cameraId]);
    this.addSample(minuteKey, minute, { microsecond: microsecondOfMinute(ts), cameraId, tally: difference });
    const camera = this.camera(cameraKey, cameraId);
    camera.day = plus(camera.day, difference);
    addTo(camera.hours, hour, difference);
    addTo(camera.minutes, minute, difference);
  }

  /** @param active cameras that become active */
  addToBucket(key: string, number: number, tally: Tally, active: Iterable<string>): void {
    const buckets = this.buckets.get(key) ?? new Map<number, BucketDifference>();
    const bucket = buckets.get(number) ?? { tally: EMPTY_TALLY, cameras: [] };
    bucket.tally = plus(bucket.tally, tally);
    bucket.cameras.push(...active);
    this.buckets.set(key, buckets.set(number, bucket));
    this.name(active);
  }

  addSample(key: string, minute: number, sample: SampleDifference): void {
    const ofRow = this.samples.get(key) ?? { minute, differences: [] };
    ofRow.differences.push(sample);
    this.samples.set(key, ofRow);
    this.name([sample.cameraId]);
  }

  /** The differences to the row of a camera, to add to. */
  camera(key: string, cameraId: string): CameraDifferences {
    const camera = this.cameras.get(key) ?? { cameraId, day: EMPTY_TALLY, hours: new Map(), minutes: new Map() };
    this.cameras.set(key, camera);
    this.name([cameraId]);
    return camera;
  }

  /** Cameras that are active on the day. */
  name(cameraIds: Iterable<string>): void {
    for (const cameraId of cameraIds) this.cameraIds.add(cameraId);
  }
}
