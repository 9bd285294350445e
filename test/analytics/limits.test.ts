import { TableClient } from '@azure/data-tables';
import { expect, it } from 'vitest';

import { MAX_CAMERA_CATEGORIES } from '../../src/analytics/model/camera-event.ts';
import type { Tally } from '../../src/analytics/model/tally.ts';
import { MAX_CAMERAS_PER_SHARD } from '../../src/analytics/rows/bitset.ts';
import { addToCamera, cameraWrite, EMPTY_CAMERA, type CameraRow } from '../../src/analytics/rows/camera-row.ts';
import { FORMAT } from '../../src/analytics/rows/format.ts';
import { addToBucket, type Buckets, bucketValues, NO_BUCKETS } from '../../src/analytics/rows/buckets.ts';
import { newDay, writeDayRow } from '../../src/analytics/rows/day-row.ts';
import { cameraKey, hourKey, minuteKey } from '../../src/analytics/rows/keys.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES, overflowedSecondsOf } from '../../src/analytics/rows/minute-row.ts';
import { MAX_TALLY_CATEGORIES } from '../../src/analytics/rows/properties.ts';
import {
  type CameraList,
  EMPTY_STRIPE,
  hasRoom,
  NO_CAMERAS,
  stripeWrite,
  withCameras,
} from '../../src/analytics/rows/stripe-row.ts';
import {
  inStripe,
  MARK,
  MAX_ATTEMPT,
  MAX_STRIPES,
  newStripeWrites,
  STRIPES,
} from '../../src/analytics/rows/stripes.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import { type RowWrite, type StoringWrite, writeOf } from '../../src/storage/row.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { LIMITS, objectionsTo, rowBytes, type WholeRow } from '../storage/table-limits.ts';
import { all, CountingProcess, DATE, SHARD, START } from './counting.ts';
import type { PlainMessage } from './oracle.ts';

const FRAMES_A_MINUTE = 10;
const MOST_COUNT = 10_000;

const CATEGORIES = all(MAX_TALLY_CATEGORIES).map((index) => `c${String(index).padStart(63, '0')}`);
const CAMERA_CATEGORIES = CATEGORIES.slice(0, MAX_CAMERA_CATEGORIES);

/** The longest ids, in characters of three bytes in UTF-8. */
const longId = (index: number): string => String(index).padStart(128, '語');

/**
 * The tally of some frames, each with the highest counts of every category. It is negative, as if another stripe had counted the frames and
 * the stripe took them away: such counts are the longest.
 */
const most = (frames: number, framesOfCategory: number, categories: readonly string[]): Tally => {
  const [ofCategory, ofAll] = [-framesOfCategory, -frames];
  const counts = { detections: ofCategory * MOST_COUNT, reviewed: ofCategory, annotations: ofCategory * MOST_COUNT };
  const own = { ...counts, flagged: ofCategory, confirmed: ofCategory };
  return {
    events: ofAll,
    reviewed: ofAll,
    annotated: ofAll,
    categories: new Map(categories.map((category) => [category, own])),
  };
};

/** A camera that sends ten frames a minute for a day, each with the highest counts. */
const busiestCamera = (): CameraRow => {
  const minute = most(FRAMES_A_MINUTE, FRAMES_A_MINUTE, CAMERA_CATEGORIES);
  return all(1_440).reduce((row, index) => addToCamera(row, [[index, minute]]), EMPTY_CAMERA);
};

/** Every second camera: no bitset is longer when it is stored. */
const everySecond = (cameras: number): readonly number[] => all(cameras / 2).map((index) => 2 * index + 1);

/** Buckets of some minutes each, of cameras that each have 64 of the shard's categories. */
const busiestBuckets = (buckets: number, minutes: number, cameras: number): Buckets => {
  const frames = FRAMES_A_MINUTE * minutes;
  const framesOfCategory = Math.ceil((cameras * MAX_CAMERA_CATEGORIES) / CATEGORIES.length) * frames;
  const tally = most(cameras * frames, framesOfCategory, CATEGORIES);
  return all(buckets).reduce(
    (row, number) => addToBucket(row, number, tally, everySecond(cameras), CATEGORIES) ?? NO_BUCKETS,
    NO_BUCKETS,
  );
};

/** Half a minute with some frames a second, each with the highest counts of some categories. */
const busiestMinute = (framesASecond: number, categories: number) => {
  const tally = most(1, 1, CATEGORIES.slice(0, categories));
  const frames = all(30 * framesASecond).map((index) => ({
    microsecond: Math.floor((index * 1_000_000) / framesASecond),
    cameraIndex: MAX_CAMERAS_PER_SHARD - 1,
    tally,
  }));
  return { row: addSamples(NO_SAMPLES, frames, CATEGORIES) ?? NO_SAMPLES, frames };
};

/** A counter row as the first commit of the last stripe inserts it. */
const stored = (write: StoringWrite): WholeRow => ({
  partitionKey: SHARD,
  rowKey: inStripe(write.rowKey, MAX_STRIPES - 1),
  properties: { ...write.properties, [STRIPES]: MAX_STRIPES, [MARK]: MAX_ATTEMPT, format: FORMAT },
});

it.each([
  ['588 frames a second, which its samples take', 588, 1, true],
  ['589 frames a second, whose samples are dropped', 589, 1, false],
  ['19 frames a second with all their categories, which its samples take', 19, 64, true],
  ['20 frames a second with all their categories, whose samples are dropped', 20, 64, false],
])('a row of a minute stays inside the limits of Table Storage with %s', (_, framesASecond, categories, stays) => {
  const { row, frames } = busiestMinute(framesASecond, categories);
  expect(objectionsTo(stored(minuteRowWrite(minuteKey(495, 0), undefined, row, frames)))).toEqual([]);
  expect(overflowedSecondsOf(row)).toEqual(stays ? [] : all(30));
});

/** As many cameras as a list takes, with ids that fill it. The longest ids come first. */
const fullList = (): CameraList =>
  withCameras(
    NO_CAMERAS,
    all(MAX_CAMERAS_PER_SHARD).map((index) => (index < 65 ? longId(index) : index.toString(36).padStart(5, '語'))),
  );

/** A message about the last minute of an hour, with the highest counts. */
const messageOf = (cameraId: string, hour: number): PlainMessage => {
  const counts = Object.fromEntries(CAMERA_CATEGORIES.map((category) => [category, MOST_COUNT]));
  const ts = START + BigInt(hour * 60 + 59) * 60_000_000n;
  return { cameraId, eventId: longId(hour), ts, time: START, detections: counts, reviewed: true, annotations: counts };
};

/** A table that weighs the bodies in which the SDK would send transactions. */
class Scales extends MemoryTable {
  readonly bytes: number[] = [];
  readonly #scales = {
    name: 'scales',
    sendRequest: async ({ body }: { readonly body?: unknown }): Promise<never> => {
      this.bytes.push(Buffer.byteLength(String(body)));
      throw new Error('it is only weighed');
    },
  };
  readonly #sdk = new AzureTable(() =>
    TableClient.fromConnectionString('UseDevelopmentStorage=true', 'weighed', {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
      additionalPolicies: [{ position: 'perRetry', policy: this.#scales }],
    }),
  );

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    await this.#sdk.transact(partition, writes, AbortSignal.timeout(60_000)).catch(() => undefined);
    return super.transact(partition, writes);
  }
}

/** The hours of the shard whose minutes are full already. */
const HOURS = 8;

/** The rows of a shard, as large as possible, without event rows. */
const fullShard = (cameras: CameraList, cameraIds: readonly string[]): readonly StoringWrite[] => {
  const hour = bucketValues(busiestBuckets(60, 1, MAX_CAMERAS_PER_SHARD), all(60));
  const minute = busiestMinute(18, 64);
  const camera = busiestCamera();
  const frames = MAX_CAMERAS_PER_SHARD * 14_400;
  const tally = most(frames, Math.ceil((frames * MAX_CAMERA_CATEGORIES) / CATEGORIES.length), CATEGORIES);
  const day = { ...EMPTY_STRIPE, tally, hours: busiestBuckets(24, 60, MAX_CAMERAS_PER_SHARD), cameras };
  return [
    ...newStripeWrites(0, undefined),
    stripeWrite(0, undefined, undefined, day, all(24)),
    ...all(HOURS).map((at) => writeOf(hourKey(at), undefined, hour)),
    ...all(HOURS).map((at) => minuteRowWrite(minuteKey(at * 60 + 59, 0), undefined, minute.row, minute.frames)),
    ...cameraIds.map((id) => cameraWrite(cameraKey(id), undefined, camera, all(24))),
  ];
};

it('a transaction with events of full cameras in many hours of a full shard, and its rows, stay inside the limits of Table Storage', async () => {
  const table = new Scales();
  const list = fullList();
  expect(list.ids).toHaveLength(32_000);
  expect(hasRoom({ ...list, ids: [] }, ['12345']), 'its ids leave no room either').toBe(false);
  const cameras = list.ids.slice(0, 12);
  const rows = fullShard(list, cameras);
  expect(rows.map(stored).flatMap(objectionsTo)).toEqual([]);
  const largest = Math.max(...rows.map((write) => rowBytes(stored(write))));
  expect(largest, 'the test is at the limits').toBeGreaterThan(0.9 * LIMITS.rowBytes);
  const process = new CountingProcess(table);
  await writeDayRow(process.table, DATE, undefined, newDay(1));
  for (const { rowKey, properties } of rows) await process.table.insert(SHARD, rowKey, properties);
  table.bytes.splice(0);
  const messages = cameras.flatMap((cameraId) => all(HOURS).map((at) => messageOf(cameraId, at)));
  expect(new Set(await process.record(messages))).toEqual(new Set(['recorded']));
  const megabytes = table.bytes.map((bytes) => Math.round(bytes / 100_000) / 10);
  expect(megabytes, 'of the rows only what has changed is written').toEqual([2.6, 2.6, 1.9]);
});
