import { describe, expect, it } from 'vitest';

import { MAX_CAMERAS_PER_SHARD } from '../../../src/analytics/rows/bitset.ts';
import { cameraWrite } from '../../../src/analytics/rows/camera-row.ts';
import { eventWrite } from '../../../src/analytics/rows/event-row.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { bucketsWrite } from '../../../src/analytics/rows/hour-rows.ts';
import { hourKey, HOURS_KEY, minuteKey } from '../../../src/analytics/rows/keys.ts';
import { minuteRowWrite, overflowedSecondsOf, samplesOf } from '../../../src/analytics/rows/minute-row.ts';
import { COMMIT_NUMBER, inStripe, MAX_STRIPES, announcement } from '../../../src/analytics/rows/stripes.ts';
import { EMPTY_CAMERA_LIST, withCameras, EMPTY_TOTAL, totalWrites } from '../../../src/analytics/rows/total-row.ts';
import type { RowWrite, StoringWrite } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { CountingProcess } from '../counting.ts';
import { keyed } from '../../../src/analytics/record/batch.ts';
import { toEventMessage } from '../event-message.ts';
import type { PlainMessage } from '../oracle.ts';
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
    const stays = overflowedSecondsOf(row).length === 0;
    expect(stays).toBe(share > 0);
    expect(stays ? samplesOf(row, 0, 29_999_999).length : 0).toBe(share > 0 ? frames.length : 0);
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
    const announced = { ...total, properties: { ...total.properties, ...announcement(MAX_STRIPES) } };
    expect([announced, ...lists].flatMap(objectionsTo)).toEqual([]);
    expect(total.rowKey).toBe(inStripe('total', stripe));
    expect(lists.length).toBeGreaterThan(0);
  });
});

it('a row of an event with 64 categories and the longest ids stays inside the limits of Table Storage', () => {
  const named = Object.fromEntries(CAMERA_CATEGORIES.map((category) => [category, MOST_COUNT]));
  const ids = { eventId: '|'.repeat(128), cameraId: longId(0) };
  const facets = { detections: named, reviewed: true, annotations: named };
  const message = toEventMessage({ ...ids, ts: START, time: START, ...facets });
  const { rowKey, properties } = eventWrite(keyed(message).eventKey, undefined, message);
  expect(objectionsTo({ partitionKey: PARTITION, rowKey, properties })).toEqual([]);
});

/** Keeps the bytes of the whole rows that each transaction touched. */
class WeighedTable extends MemoryTable {
  readonly bytes: number[] = [];

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, writes);
    const rows = await Promise.all(writes.map(async ({ rowKey }) => this.get(partition, rowKey, {})));
    this.bytes.push(rows.reduce((sum, row) => sum + (row === undefined ? 0 : rowBytes(row)), 0));
    return etags;
  }
}

const NETWORK = 1_300;

const frames = (count: number, from: bigint, step: bigint, name: string): readonly PlainMessage[] =>
  Array.from({ length: count }, (_, index) => {
    const ts = from + BigInt(index) * step;
    return {
      cameraId: `camera-${String(index % NETWORK).padStart(4, '0')}`,
      eventId: `${name}-${index}`,
      ts,
      time: ts,
      detections: { ...(index % 7 === 0 && { smoke: 1 }), ...(index % 11 === 0 && { structure: 2 }) },
    };
  });

it('a commit of one of 25 frames a second of 1,300 cameras, at the end of an hour, touches fewer than 12,000 bytes', async () => {
  const table = new WeighedTable();
  const process = new CountingProcess(table, 1);
  // Each camera once a minute until 07:58, and then 25 frames a second.
  const minute = 60_000_000n;
  for (const at of [0, 20, 57]
    .flatMap((own) => [0, 3, 6, 7].map((hour) => 60 * hour + own))
    .toSorted((a, b) => a - b)) {
    await process.record(frames(NETWORK, START + BigInt(at) * minute, minute / BigInt(NETWORK), `${at}`));
  }
  const last = frames(3_000, START + 478n * minute, 40_000n, 'last');
  await process.record(last.slice(0, -200));
  table.bytes.splice(0);
  for (const one of last.slice(-200)) await process.record([one]);
  expect(table.bytes).toHaveLength(200);
  expect(Math.max(...table.bytes)).toBeLessThan(12_000);
}, 60_000);
