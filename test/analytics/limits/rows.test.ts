import { describe, expect, it } from 'vitest';

import { MAX_CAMERAS_PER_SHARD } from '../../../src/analytics/rows/bitset.ts';
import { cameraWrite } from '../../../src/analytics/rows/camera-row.ts';
import { eventWrite } from '../../../src/analytics/rows/event-row.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { bucketsWrite } from '../../../src/analytics/rows/hour-rows.ts';
import { hourKey, HOURS_KEY, minuteKey } from '../../../src/analytics/rows/keys.ts';
import { minuteRowWrite, samplesOf } from '../../../src/analytics/rows/minute-row.ts';
import { COMMIT_NUMBER, inStripe, MAX_STRIPES, announcement } from '../../../src/analytics/rows/stripes.ts';
import { EMPTY_CAMERA_LIST, withCameras, EMPTY_TOTAL, totalWrites } from '../../../src/analytics/rows/total-row.ts';
import type { StoringWrite } from '../../../src/storage/row.ts';
import { keyed } from '../../../src/analytics/record/batch.ts';
import { toEventMessage } from '../event-message.ts';
import {
  all,
  busiestBuckets,
  busiestCamera,
  busiestHour,
  busiestMinute,
  CAMERA_CATEGORIES,
  CATEGORIES,
  longId,
  MOST_COUNT,
  most,
  PARTITION,
  START,
  type Sign,
} from './largest-rows.ts';
import { LIMITS, objectionsTo, rowBytes, type WholeRow } from '../table-limits.ts';

const LAST_STRIPE = MAX_STRIPES - 1;
const MOST_COMMITS = 2 ** 31 - 1;

/** A counter row as a commit of a stripe inserts it. */
const storedIn = (stripe: number, write: StoringWrite): WholeRow => ({
  partitionKey: PARTITION,
  rowKey: inStripe(write.rowKey, stripe),
  properties: { ...write.properties, format: FORMAT, [COMMIT_NUMBER]: MOST_COMMITS },
});

/** What is wrong with a row at the limits: it goes beyond them, or is so small that the test is not at them. */
const objectionsAtLimits = (row: WholeRow, share: number): readonly string[] => [
  ...objectionsTo(row),
  ...(rowBytes(row) > share * LIMITS.rowBytes ? [] : [`${rowBytes(row)} bytes are not at the limits`]),
];

describe.each<readonly [name: string, stripe: number, sign: Sign]>([
  ['stripe 0', 0, 1],
  ['the last stripe, below zero', LAST_STRIPE, -1],
])('a row of %s stays inside the limits of Table Storage', (_name, stripe, sign) => {
  it('of a camera with 64 categories in every minute of a day', () => {
    const row = storedIn(stripe, cameraWrite(longId(0), undefined, busiestCamera(sign), all(24)));
    expect(objectionsAtLimits(row, 0.8)).toEqual([]);
  });

  it.each([25_000, MAX_CAMERAS_PER_SHARD])(
    'of an hour of %i cameras and as many categories as a shard takes',
    (cameras) => {
      const row = storedIn(stripe, bucketsWrite(hourKey(8), undefined, busiestHour(cameras, sign), all(60)));
      expect(objectionsAtLimits(row, 0.5)).toEqual([]);
    },
  );

  it('of the hours of a day with as many cameras and categories as a shard takes', () => {
    const hours = busiestBuckets(24, 60, MAX_CAMERAS_PER_SHARD, sign);
    const row = storedIn(stripe, bucketsWrite(HOURS_KEY, undefined, hours, all(24)));
    expect(objectionsAtLimits(row, 0.25)).toEqual([]);
  });

  it.each([
    ['as many frames as its seconds take', 560, 1, 0.25],
    ['frames with all their categories, as many as its seconds take', 18, 64, 0.25],
    ['more frames than its seconds take', 2_000, 1, 0],
    ['more frames with all their categories than its seconds take', 210, 64, 0],
  ])('of a minute with %s', (_frames, framesASecond, categories, share) => {
    const { row, frames } = busiestMinute(framesASecond, categories, sign);
    const written = storedIn(stripe, minuteRowWrite(minuteKey(495, 0), undefined, row, frames));
    expect(objectionsAtLimits(written, share)).toEqual([]);
    expect(samplesOf(row, 0, 29_999_999)?.length).toBe(share > 0 ? frames.length : undefined);
  });

  it.each([
    [25_000, 'ids of 12 characters', (index: number) => `ridge-${String(index).padStart(6, '0')}`],
    [25_000, 'ids of 128 characters', longId],
    [MAX_CAMERAS_PER_SHARD, 'ids of 128 characters', longId],
  ])('of a total with %i cameras, %s, and of the rows that continue its list', (cameras, _ids, idOf) => {
    const tally = most(cameras * 14_400, cameras * 14_400, CATEGORIES, sign);
    const list = withCameras(EMPTY_CAMERA_LIST, all(cameras).map(idOf));
    const writes = totalWrites(undefined, { ...EMPTY_TOTAL, tally, cameras: list }, () => undefined);
    const [total, ...lists] = writes.map((write) => storedIn(stripe, write));
    if (total === undefined) throw new Error('the total is not written');
    const announced = { ...total, properties: { ...total.properties, ...announcement(MAX_STRIPES), closed: true } };
    expect([announced, ...lists].flatMap(objectionsTo)).toEqual([]);
    expect(total.rowKey).toBe(inStripe('total', stripe));
    expect(lists.length).toBeGreaterThan(0);
  });
});

describe('a row without a stripe stays inside the limits of Table Storage', () => {
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
    const { rowKey, properties } = eventWrite(keyed(message).eventKey, undefined, message);
    expect(objectionsTo({ partitionKey: PARTITION, rowKey, properties })).toEqual([]);
  });
});

describe('the check of a row', () => {
  it('recognises one that is not inside the limits', () => {
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
