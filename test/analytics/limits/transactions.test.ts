import { describe, expect, it } from 'vitest';

import type { Outcome } from '../../../src/analytics/record/batch.ts';
import { cameraWrite } from '../../../src/analytics/rows/camera-row.ts';
import { bucketsWrite } from '../../../src/analytics/rows/hour-rows.ts';
import { dayPartition, hourKey, HOURS_KEY, minuteKey, SHARDS_KEY } from '../../../src/analytics/rows/keys.ts';
import { minuteRowWrite } from '../../../src/analytics/rows/minute-row.ts';
import { COMMIT_NUMBER, fenceWrite } from '../../../src/analytics/rows/stripes.ts';
import {
  EMPTY_CAMERA_LIST,
  withCameras,
  EMPTY_TOTAL,
  totalWrites,
  type TotalRow,
} from '../../../src/analytics/rows/total-row.ts';
import { CountingProcess, CountingStorage } from '../counting.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';
import {
  all,
  busiestBuckets,
  busiestCamera,
  busiestHour,
  busiestMinute,
  CAMERA_CATEGORIES,
  CATEGORIES,
  DATE,
  longId,
  MOST_COUNT,
  most,
  PARTITION,
  START,
} from './largest-rows.ts';
import { Scales } from './scales.ts';
import { LIMITS, objectionsTo } from '../table-limits.ts';

/** The hours of the shard that are full already. */
const HOURS = 8;

/** Writes a shard whose rows are as large as possible, without event rows. */
const fullShard = async (storage: CountingStorage, cameraIds: readonly string[]): Promise<void> => {
  const { table } = storage.process();
  await table.insert(dayPartition(DATE), SHARDS_KEY, { shards: 1 });
  const hour = busiestHour(25_000);
  const minute = busiestMinute(18, 64);
  const camera = busiestCamera();
  // The categories of a camera are in an order of their own, as are those of the shard.
  const total: TotalRow = {
    ...EMPTY_TOTAL,
    tally: most(1, 1, CATEGORIES),
    cameras: withCameras(EMPTY_CAMERA_LIST, cameraIds),
  };
  for (const write of [
    fenceWrite(undefined, 1),
    ...totalWrites(undefined, total, () => undefined),
    bucketsWrite(HOURS_KEY, undefined, busiestBuckets(HOURS, 60, 25_000), all(HOURS)),
    ...all(HOURS).map((at) => bucketsWrite(hourKey(at), undefined, hour, all(60))),
    ...all(HOURS).map((at) => minuteRowWrite(minuteKey(at * 60 + 59, 0), undefined, minute.row, minute.frames)),
    ...cameraIds.map((id) => cameraWrite(id, undefined, camera, all(24))),
  ]) {
    await table.insert(PARTITION, write.rowKey, { ...write.properties, [COMMIT_NUMBER]: 1 });
  }
};

const countsOf = (categories: readonly string[]): Record<string, number> =>
  Object.fromEntries(categories.map((category) => [category, MOST_COUNT]));

const messageOf = (
  cameraId: string,
  index: number,
  minute: number,
  categories: readonly string[] = CAMERA_CATEGORIES,
): PlainMessage => ({
  cameraId,
  eventId: longId(index),
  ts: START + BigInt(minute) * 60_000_000n,
  time: START,
  detections: countsOf(categories),
  reviewed: true,
  annotations: countsOf(categories),
});

const rowObjections = async (storage: CountingStorage): Promise<readonly string[]> => {
  const objections: string[] = [];
  for await (const { partitionKey = '', rowKey = '', etag: _etag, timestamp: _timestamp, ...properties } of storage
    .client()
    .listEntities()) {
    objections.push(...objectionsTo({ partitionKey, rowKey, properties }));
  }
  return objections;
};

const expectRecorded = (outcomes: readonly Outcome[], scales: Scales): void => {
  expect(new Set(outcomes)).toEqual(new Set(['recorded']));
  expect(scales.objections()).toEqual([]);
};

describe('a transaction stays inside the limits of Table Storage', () => {
  it('with events of full cameras in many hours of a full shard', async () => {
    const storage = new CountingStorage();
    const cameras = all(12).map(longId);
    await fullShard(storage, cameras);
    const scales = new Scales();
    const process = new CountingProcess(storage.client(scales.options), 1);
    const messages = cameras.flatMap((cameraId) => all(HOURS).map((at) => messageOf(cameraId, at, at * 60 + 59)));

    const outcomes = await process.record(messages);

    expectRecorded(outcomes, scales);
    const bytes = Math.max(...scales.weights.map((weight) => weight.bytes));
    expect(bytes, 'the test is at the limits').toBeGreaterThan(2_000_000);
    expect(await rowObjections(storage)).toEqual([]);
  }, 60_000);

  it('with many new cameras of the longest ids, and counts them all', async () => {
    const storage = new CountingStorage();
    const scales = new Scales();
    const process = new CountingProcess(storage.client(scales.options), 1);
    const messages = all(200).map((index) => messageOf(longId(index), index, index % 3));

    const outcomes = await process.record(messages);

    expectRecorded(outcomes, scales);
    expect(Math.max(...scales.weights.map(({ operations }) => operations))).toBeGreaterThan(60);
    expect(await process.differences(DATE)).toEqual([]);
  }, 60_000);

  it('with as much as a transaction takes that opens a new stripe, and counts it all', async () => {
    const storage = new CountingStorage();
    const scales = new Scales();
    const moving = new CountingProcess(storage.client(scales.options), 1);
    const [first, other] = ['first', 'other'].map((cameraId) => messageOf(cameraId, 0, 0, ['smoke']));
    if (first === undefined || other === undefined) throw new Error('there are two');
    await moving.record([first]);
    await storage.process().record([other]);
    // 45 events of as many new cameras in one hour and two minutes are the most rows that a batch takes: 93. Their categories are,
    // with smoke, as many as a shard takes.
    const perCamera = CAMERA_CATEGORIES.length;
    const messages = all(45).map((index) => {
      const from = (index * perCamera) % (CATEGORIES.length - perCamera);
      return messageOf(longId(index), index, index % 2, CATEGORIES.slice(from, from + perCamera));
    });

    const outcomes = await moving.record(messages);

    expectRecorded(outcomes, scales);
    expect(await rowObjections(storage)).toEqual([]);
    const opening = scales.weights.filter(({ opensStripe }) => opensStripe);
    expect(opening).toHaveLength(1);
    // Also the total, the hours, a row of the camera list, the announcement and the fence.
    expect(opening[0]?.operations).toBe(98);
    expect(opening[0]?.operations).toBeLessThanOrEqual(LIMITS.transactionOperations);
    expect(opening[0]?.bytes, 'the test is at the limits').toBeGreaterThan(900_000);
    const oracle = new Oracle();
    for (const told of [first, other, ...messages]) oracle.tell(told);
    const wholeDay = { start: START, end: START + DAY - 1n };
    expect(await storage.process().answer(wholeDay)).toEqual(oracle.answer(wholeDay));
    expect(await storage.process().differences(DATE)).toEqual([]);
  }, 60_000);
});
