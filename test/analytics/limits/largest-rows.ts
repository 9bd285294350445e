import { MAX_CAMERA_CATEGORIES } from '../../../src/analytics/model/camera-event.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Tally } from '../../../src/analytics/model/tally.ts';
import { MAX_CAMERAS_PER_SHARD } from '../../../src/analytics/rows/bitset.ts';
import { addToCamera, emptyCameraRow, type CameraRow } from '../../../src/analytics/rows/camera-row.ts';
import { addToBucket, NO_BUCKETS, type HoursRow } from '../../../src/analytics/rows/hour-rows.ts';
import { shardPartition } from '../../../src/analytics/rows/keys.ts';
import { addSamples, NO_SAMPLES, type MinuteRow, type Sample } from '../../../src/analytics/rows/minute-row.ts';
import { MAX_TALLY_CATEGORIES } from '../../../src/analytics/rows/properties.ts';
import { DAY } from '../oracle.ts';

// Rows with as much in them as the limits of requests allow.

const FRAMES_A_MINUTE = 10;
export const MOST_COUNT = 10_000;
export const START = 20_778n * DAY;
export const DATE = dayOf(instantFrom(START));
export const PARTITION = shardPartition(DATE, 0);

export const CATEGORIES = Array.from(
  { length: MAX_TALLY_CATEGORIES },
  (_, index) => `c${String(index).padStart(63, '0')}`,
);
export const CAMERA_CATEGORIES = CATEGORIES.slice(0, MAX_CAMERA_CATEGORIES);

/** The longest ids, in characters of three bytes in UTF-8. */
export const longId = (index: number): string => String(index).padStart(128, '語');

/** The numbers from 0 to less than a count. */
export const all = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** 1: events are counted. -1: events that another stripe counted are corrected away, so that counts are below zero. */
export type Sign = 1 | -1;

/** The tally of so many frames, each with the highest counts of every category. */
export const most = (
  frames: number,
  framesOfCategory: number,
  categories: readonly string[],
  sign: Sign = 1,
): Tally => ({
  events: sign * frames,
  reviewed: sign * frames,
  annotated: sign * frames,
  categories: new Map(
    categories.map((category) => [
      category,
      {
        detections: sign * framesOfCategory * MOST_COUNT,
        reviewed: sign * framesOfCategory,
        annotations: sign * framesOfCategory * MOST_COUNT,
      },
    ]),
  ),
});

/** A camera that sends ten frames a minute for a day, each with the highest counts. */
export const busiestCamera = (sign: Sign = 1): CameraRow => {
  const minute = most(FRAMES_A_MINUTE, FRAMES_A_MINUTE, CAMERA_CATEGORIES, sign);
  let row = emptyCameraRow(0);
  for (const index of all(1_440)) {
    row = addToCamera(row, {
      day: minute,
      hours: new Map([[Math.floor(index / 60), minute]]),
      minutes: new Map([[index, minute]]),
    });
  }
  return row;
};

/** Buckets of some minutes each, of so many such cameras; each camera has 64 of the shard's categories. */
export const busiestBuckets = (buckets: number, minutes: number, cameras: number, sign: Sign = 1): HoursRow => {
  const frames = FRAMES_A_MINUTE * minutes;
  const framesOfCategory = Math.ceil((cameras * MAX_CAMERA_CATEGORIES) / CATEGORIES.length) * frames;
  const tally = most(cameras * frames, framesOfCategory, CATEGORIES, sign);
  return all(buckets).reduce(
    (row, number) => addToBucket(row, number, tally, [cameras - 1], CATEGORIES) ?? NO_BUCKETS,
    NO_BUCKETS,
  );
};

/** The minutes of an hour of so many such cameras. */
export const busiestHour = (cameras: number, sign: Sign = 1): HoursRow => busiestBuckets(60, 1, cameras, sign);

/** Half a minute with so many frames a second, each with the highest counts of so many categories. */
export const busiestMinute = (
  framesASecond: number,
  categories: number,
  sign: Sign = 1,
): { readonly row: MinuteRow; readonly frames: readonly Sample[] } => {
  const frame = most(1, 1, CATEGORIES.slice(0, categories), sign);
  const frames = all(30 * framesASecond).map((index) => ({
    microsecond: Math.floor((index * 1_000_000) / framesASecond),
    cameraIndex: MAX_CAMERAS_PER_SHARD - 1,
    tally: frame,
  }));
  return { row: addSamples(NO_SAMPLES, frames, CATEGORIES) ?? NO_SAMPLES, frames };
};
