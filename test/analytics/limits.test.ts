import type { TableServiceClientOptions } from '@azure/data-tables';
import { describe, expect, it } from 'vitest';

import { EMPTY_CAMERA_LIST, MAX_CAMERAS_PER_SHARD, withCameras } from '../../src/analytics/rows/camera-list.ts';
import { addToCamera, cameraWrite, emptyCameraRow, type CameraRow } from '../../src/analytics/rows/camera-row.ts';
import { eventWrite } from '../../src/analytics/rows/event-row.ts';
import { fenceWrite } from '../../src/analytics/rows/fence-row.ts';
import { addToBucket, bucketsWrite, NO_BUCKETS, type HourRow } from '../../src/analytics/rows/hour-rows.ts';
import {
  dayPartition,
  hourKey,
  HOURS_KEY,
  minuteKey,
  shardPartition,
  SHARDS_KEY,
} from '../../src/analytics/rows/keys.ts';
import { MAX_CAMERA_CATEGORIES } from '../../src/analytics/model/camera-event.ts';
import { dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import {
  addSamples,
  minuteRowWrite,
  NO_SAMPLES,
  samplesOf,
  type MinuteRow,
  type Sample,
} from '../../src/analytics/rows/minute-row.ts';
import type { RowWrite } from '../../src/analytics/rows/row.ts';
import { MAX_TALLY_CATEGORIES } from '../../src/analytics/rows/tally-text.ts';
import type { Tally } from '../../src/analytics/model/tally.ts';
import { EMPTY_TOTAL, totalWrites, type TotalRow } from '../../src/analytics/rows/total-row.ts';
import { keyed } from '../../src/analytics/record/keyed-message.ts';
import { CountingProcess, CountingStorage, toEventMessage } from './counting.ts';
import { DAY, type PlainMessage } from './oracle.ts';
import { LIMITS, objectionsTo, rowBytes, type WholeRow } from './table-limits.ts';

const FRAMES_A_MINUTE = 10;
const MOST_COUNT = 10_000;
const START = 20_778n * DAY;
const PARTITION = shardPartition(dayOf(instantFrom(START)), 0);

const CATEGORIES = Array.from({ length: MAX_TALLY_CATEGORIES }, (_, index) => `c${String(index).padStart(63, '0')}`);
const CAMERA_CATEGORIES = CATEGORIES.slice(0, MAX_CAMERA_CATEGORIES);

/** The longest ids, in characters of three bytes in UTF-8. */
const longId = (index: number): string => String(index).padStart(128, '語');

/** The tally of so many frames, each with the highest counts of every category. */
const most = (frames: number, framesOfCategory: number, categories: readonly string[]): Tally => ({
  events: frames,
  reviewed: frames,
  annotated: frames,
  categories: new Map(
    categories.map((category) => [
      category,
      {
        detections: framesOfCategory * MOST_COUNT,
        reviewed: framesOfCategory,
        annotations: framesOfCategory * MOST_COUNT,
      },
    ]),
  ),
});

/** A camera that sends ten frames a minute for a day, each with the highest counts. */
const busiestCamera = (): CameraRow => {
  const minute = most(FRAMES_A_MINUTE, FRAMES_A_MINUTE, CAMERA_CATEGORIES);
  let row = emptyCameraRow(0);
  for (let index = 0; index < 1_440; index += 1)
    row = addToCamera(row, {
      day: minute,
      hours: new Map([[Math.floor(index / 60), minute]]),
      minutes: new Map([[index, minute]]),
    });
  return row;
};

/** Buckets of some minutes each, of so many such cameras; each camera has 64 of the shard's categories. */
const busiestBuckets = (buckets: number, minutes: number, cameras: number): HourRow => {
  const frames = FRAMES_A_MINUTE * minutes;
  const framesOfCategory = Math.ceil((cameras * MAX_CAMERA_CATEGORIES) / CATEGORIES.length) * frames;
  const tally = most(cameras * frames, framesOfCategory, CATEGORIES);
  return all(buckets).reduce(
    (row, number) => addToBucket(row, number, tally, [cameras - 1], CATEGORIES) ?? NO_BUCKETS,
    NO_BUCKETS,
  );
};
const busiestHour = (cameras: number): HourRow => busiestBuckets(60, 1, cameras);

/** Half a minute with so many frames a second, each with the highest counts of so many categories. */
const busiestMinute = (framesASecond: number, categories: number): { row: MinuteRow; frames: readonly Sample[] } => {
  const frame = most(1, 1, CATEGORIES.slice(0, categories));
  const frames = all(30 * framesASecond).map((index) => ({
    microsecond: Math.floor((index * 1_000_000) / framesASecond),
    cameraIndex: MAX_CAMERAS_PER_SHARD - 1,
    tally: frame,
  }));
  return { row: addSamples(NO_SAMPLES, frames, CATEGORIES) ?? NO_SAMPLES, frames };
};

const wholeRow = ({ rowKey, properties }: RowWrite): WholeRow => ({ partitionKey: PARTITION, rowKey, properties });
const all = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

describe('a row stays inside the limits of Table Storage', () => {
  it('of a camera with 64 categories in every minute of a day', () => {
    const row = wholeRow(cameraWrite(longId(0), undefined, busiestCamera(), all(24)));
    expect(objectionsTo(row)).toEqual([]);
    expect(rowBytes(row), 'the test is at the limits').toBeGreaterThan(0.8 * LIMITS.rowBytes);
  });

  it.each([25_000, MAX_CAMERAS_PER_SHARD])(
    'of an hour of %i cameras and as many categories as a shard takes',
    (cameras) => {
      const row = wholeRow(bucketsWrite(hourKey(8), undefined, busiestHour(cameras), all(60)));
      expect(objectionsTo(row)).toEqual([]);
      expect(rowBytes(row), 'the test is at the limits').toBeGreaterThan(0.5 * LIMITS.rowBytes);
    },
  );

  it('of the hours of a day with as many cameras and categories as a shard takes', () => {
    const hours = busiestBuckets(24, 60, MAX_CAMERAS_PER_SHARD);
    const row = wholeRow(bucketsWrite(HOURS_KEY, undefined, hours, all(24)));
    expect(objectionsTo(row)).toEqual([]);
    expect(rowBytes(row), 'the test is at the limits').toBeGreaterThan(0.25 * LIMITS.rowBytes);
  });

  it.each([
    ['as many frames as its seconds take', 560, 1, 0.25],
    ['frames with all their categories, as many as its seconds take', 18, 64, 0.25],
    ['more frames than its seconds take', 2_000, 1, 0],
    ['more frames with all their categories than its seconds take', 210, 64, 0],
  ])('of a minute with %s', (_frames, framesASecond, categories, share) => {
    const { row, frames } = busiestMinute(framesASecond, categories);
    const written = wholeRow(minuteRowWrite(minuteKey(495, 0), undefined, row, frames));
    expect(objectionsTo(written)).toEqual([]);
    expect(rowBytes(written), 'the test is at the limits').toBeGreaterThan(share * LIMITS.rowBytes);
    expect(samplesOf(row, 0, 29_999_999)?.length).toBe(share > 0 ? frames.length : undefined);
  });

  it.each([
    [25_000, 'ids of 12 characters', (index: number) => `ridge-${String(index).padStart(6, '0')}`],
    [25_000, 'ids of 128 characters', longId],
    [MAX_CAMERAS_PER_SHARD, 'ids of 128 characters', longId],
  ])('of a total with %i cameras, %s, and of the rows that continue its list', (cameras, _ids, idOf) => {
    const tally = most(cameras * 14_400, cameras * 14_400, CATEGORIES);
    const list = withCameras(EMPTY_CAMERA_LIST, all(cameras).map(idOf));
    const writes = totalWrites(undefined, { ...EMPTY_TOTAL, tally, cameras: list }, () => undefined);
    expect(writes.flatMap((write) => objectionsTo(wholeRow(write)))).toEqual([]);
    expect(writes[0]?.rowKey).toBe('total');
  });

  it('of an event with 64 categories and the longest ids', () => {
    const named = Object.fromEntries(CAMERA_CATEGORIES.map((category) => [category, MOST_COUNT]));
    const message = toEventMessage({
      eventId: '|'.repeat(128),
      cameraId: longId(0),
      ts: START,
      time: START,
      detections: named,
      reviewed: true,
      annotations: named,
    });
    expect(objectionsTo(wholeRow(eventWrite(keyed(message).eventKey, undefined, message)))).toEqual([]);
  });

  it('and the check recognises one that does not', () => {
    const row = { partitionKey: PARTITION, rowKey: 'total', properties: { day: 'x'.repeat(32_768) } };
    expect(objectionsTo(row)).toEqual([]);
    expect(objectionsTo({ ...row, properties: { day: 'x'.repeat(32_769) } })).toEqual(['65538 bytes in day']);
    expect(objectionsTo({ ...row, rowKey: 'a/b' })).toHaveLength(1);
    expect(objectionsTo({ ...row, rowKey: 'k'.repeat(513) })).toHaveLength(1);
    expect(objectionsTo({ ...row, properties: { total: 2 ** 31, half: 0.5, 'a-b': 1 } })).toHaveLength(3);
    const many = Object.fromEntries(all(253).map((index) => [`p${index}`, 1]));
    expect(objectionsTo({ ...row, properties: many })).toEqual(['253 properties']);
    const big = Object.fromEntries(all(17).map((index) => [`p${index}`, new Uint8Array(65_000)]));
    expect(objectionsTo({ ...row, properties: big })).toHaveLength(1);
  });
});

/** Measures the transactions that the SDK sends. */
class Scales {
  readonly sizes: { readonly bytes: number; readonly operations: number }[] = [];

  readonly options: TableServiceClientOptions = {
    additionalPolicies: [
      {
        position: 'perRetry',
        policy: {
          name: 'scales',
          sendRequest: async (request, next) => {
            if (request.url.includes('$batch') && typeof request.body === 'string') {
              const operations = request.body.match(/^(?:POST|PUT|PATCH|MERGE|DELETE) /gm)?.length ?? 0;
              this.sizes.push({ bytes: Buffer.byteLength(request.body), operations });
            }
            return next(request);
          },
        },
      },
    ],
  };

  /** The transactions that Table Storage would refuse. */
  objections(): readonly string[] {
    return this.sizes
      .filter(({ bytes, operations }) => bytes > LIMITS.transactionBytes || operations > LIMITS.transactionOperations)
      .map(({ bytes, operations }) => `${operations} operations in ${bytes} bytes`);
  }
}

/** The hours of the shard that are full already. */
const HOURS = 12;

/** Writes a shard whose rows are as large as possible, without event rows. */
const fullShard = async (storage: CountingStorage, cameraIds: readonly string[]): Promise<void> => {
  const { table } = storage.process();
  await table.insert(dayPartition(dayOf(instantFrom(START))), {
    kind: 'insert',
    rowKey: SHARDS_KEY,
    properties: { shards: 1 },
  });
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
    ...totalWrites(undefined, total, () => undefined),
    fenceWrite(undefined, 1),
    bucketsWrite(HOURS_KEY, undefined, busiestBuckets(HOURS, 60, 25_000), all(HOURS)),
    ...all(HOURS).map((at) => bucketsWrite(hourKey(at), undefined, hour, all(60))),
    ...all(HOURS).map((at) => minuteRowWrite(minuteKey(at * 60 + 59, 0), undefined, minute.row, minute.frames)),
    ...cameraIds.map((id) => cameraWrite(id, undefined, camera, all(24))),
  ]) {
    await table.insert(PARTITION, { ...write, properties: { ...write.properties, n: 1 } });
  }
};

describe('a transaction stays inside the limits of Table Storage', () => {
  const named = Object.fromEntries(CAMERA_CATEGORIES.map((category) => [category, MOST_COUNT]));
  const message = (cameraId: string, index: number, minute: number): PlainMessage => ({
    cameraId,
    eventId: longId(index),
    ts: START + BigInt(minute) * 60_000_000n,
    time: START,
    detections: named,
    reviewed: true,
    annotations: named,
  });

  it('with events of full cameras in many hours of a full shard', async () => {
    const storage = new CountingStorage();
    const cameras = all(12).map(longId);
    await fullShard(storage, cameras);
    const scales = new Scales();
    const process = new CountingProcess(storage.client(scales.options), 1);
    const messages = cameras.flatMap((cameraId) => all(HOURS).map((at) => message(cameraId, at, at * 60 + 59)));

    const outcomes = await process.record(messages);

    expect(new Set(outcomes)).toEqual(new Set(['recorded']));
    expect(scales.objections()).toEqual([]);
    expect(Math.max(...scales.sizes.map(({ bytes }) => bytes)), 'the test is at the limits').toBeGreaterThan(2_000_000);
    for await (const { partitionKey = '', rowKey = '', etag: _etag, timestamp: _timestamp, ...properties } of storage
      .client()
      .listEntities()) {
      expect(objectionsTo({ partitionKey, rowKey, properties })).toEqual([]);
    }
  }, 60_000);

  it('with many new cameras of the longest ids, and counts them all', async () => {
    const storage = new CountingStorage();
    const scales = new Scales();
    const process = new CountingProcess(storage.client(scales.options), 1);
    const messages = all(400).map((index) => message(longId(index), index, index % 3));

    const outcomes = await process.record(messages);

    expect(new Set(outcomes)).toEqual(new Set(['recorded']));
    expect(scales.objections()).toEqual([]);
    expect(Math.max(...scales.sizes.map(({ operations }) => operations))).toBeGreaterThan(60);
    expect(await process.differences(dayOf(instantFrom(START)))).toEqual([]);
  }, 60_000);
});
