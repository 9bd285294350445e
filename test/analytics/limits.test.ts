import { TableClient } from '@azure/data-tables';
import { expect, it } from 'vitest';

import { ONE_REQUEST } from '../../src/azure/one-request.ts';
import { MAX_CAMERA_CATEGORIES } from '../../src/analytics/model/camera-event.ts';
import { type Hour, HOURS, minuteFrom, type MinuteOfHour, MINUTES } from '../../src/analytics/model/day.ts';
import type { DayTally } from '../../src/analytics/model/tally.ts';
import { addToBucket, type Buckets, bucketValues, MAX_CAMERAS_PER_STRIPE } from '../../src/analytics/rows/buckets.ts';
import { addToCamera, cameraValues, EMPTY_CAMERA, type CameraRow } from '../../src/analytics/rows/camera-row.ts';
import { dayValues, hasRoom } from '../../src/analytics/rows/day-row.ts';
import { cameraCounter, counterKey, DAY_00, hourCounter } from '../../src/analytics/rows/keys.ts';
import { indexesOf, MAX_TALLY_CATEGORIES } from '../../src/analytics/rows/properties.ts';
import { readSeal, sealShard } from '../../src/analytics/rows/seal.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import { type RowWrite, type StoringWrite, writeOf } from '../../src/storage/row.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { LIMITS, rowBytes } from '../storage/table-limits.ts';
import { all, CountingProcess, SHARD, START } from './counting.ts';
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
const most = (frames: number, framesOfCategory: number, categories: readonly string[]): DayTally => {
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
  return all(1_440).reduce(
    (row, index) => addToCamera(row, [{ minute: minuteFrom(index), difference: minute }]),
    EMPTY_CAMERA,
  );
};

/** Every second camera: no bitset is longer when it is stored. */
const everySecond = (cameras: number): readonly number[] => all(cameras / 2).map((index) => 2 * index + 1);

/** Buckets of some minutes each, of cameras that each have 64 of the shard's categories. */
const busiestBuckets = <Number extends Hour | MinuteOfHour>(
  numbers: readonly Number[],
  minutes: number,
): Buckets<Number> => {
  const frames = FRAMES_A_MINUTE * minutes;
  const cameras = MAX_CAMERAS_PER_STRIPE;
  const framesOfCategory = Math.ceil((cameras * MAX_CAMERA_CATEGORIES) / CATEGORIES.length) * frames;
  const tally = most(cameras * frames, framesOfCategory, CATEGORIES);
  const active = everySecond(cameras);
  return numbers.reduce<Buckets<Number>>(
    (row, number) => addToBucket(row, number, tally, active, CATEGORIES) ?? row,
    new Map(),
  );
};

/** As many cameras as a list takes, with ids that fill it. The longest ids come first. */
const fullList = (): ReadonlyMap<string, number> =>
  indexesOf(
    all(MAX_CAMERAS_PER_STRIPE).map((index) => (index < 65 ? longId(index) : index.toString(36).padStart(5, '語'))),
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
      ...ONE_REQUEST,
      additionalPolicies: [{ position: 'perRetry', policy: this.#scales }],
    }),
  );

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    await this.#sdk.transact(partition, writes, AbortSignal.timeout(60_000)).catch(() => undefined);
    return super.transact(partition, writes);
  }
}

/** The hours of the shard whose minutes are full already. */
const FULL_HOURS = HOURS.slice(0, 8);

/** The rows of a shard, as large as possible, without event rows. */
const fullShard = (cameras: ReadonlyMap<string, number>, cameraIds: readonly string[]): readonly StoringWrite[] => {
  const hour = bucketValues(busiestBuckets(MINUTES, 1), MINUTES);
  const camera = busiestCamera();
  const frames = MAX_CAMERAS_PER_STRIPE * 14_400;
  const tally = most(frames, Math.ceil((frames * MAX_CAMERA_CATEGORIES) / CATEGORIES.length), CATEGORIES);
  return [
    writeOf(DAY_00, undefined, dayValues({ tally, hours: busiestBuckets(HOURS, 60), cameras }, undefined, HOURS)),
    ...FULL_HOURS.map((at) => writeOf(counterKey(hourCounter(at), 0), undefined, hour)),
    ...cameraIds.map((id) =>
      writeOf(counterKey(cameraCounter(id), 0), undefined, cameraValues(camera, undefined, HOURS)),
    ),
  ];
};

it('a transaction with events of full cameras in many hours of a full shard, and its rows, stay inside the limits of Table Storage', async () => {
  const table = new Scales();
  const list = fullList();
  expect(list.size).toBe(32_000);
  const butTwo = indexesOf([...list.keys()].slice(1, -1));
  expect(hasRoom(butTwo, '12345'), 'its ids have room for one more').toBe(true);
  expect(hasRoom(butTwo, '12345'.padEnd(200)), 'its ids leave no room either').toBe(false);
  const cameras = [...list.keys()].slice(0, 12);
  const rows = fullShard(list, cameras);
  const process = new CountingProcess(table);
  for (const { rowKey, properties } of rows) await process.table.insert(SHARD, rowKey, properties);
  // The rows have everything that others merge into them.
  await sealShard(process.table, await readSeal(process.table, SHARD), 'rebuilding');
  await sealShard(process.table, await readSeal(process.table, SHARD), undefined);
  const largest = Math.max(...table.rows(SHARD).map(rowBytes));
  expect(largest, 'the test is at the limits').toBeGreaterThan(0.8 * LIMITS.rowBytes);
  table.bytes.splice(0);
  const messages = cameras.flatMap((cameraId) => FULL_HOURS.map((at) => messageOf(cameraId, at)));
  expect(new Set(await process.record(messages))).toEqual(new Set(['recorded']));
  const megabytes = table.bytes.map((bytes) => Math.round(bytes / 100_000) / 10);
  expect(megabytes, 'of the rows only what has changed is written').toEqual([2.5, 2.5, 1.2]);
});
