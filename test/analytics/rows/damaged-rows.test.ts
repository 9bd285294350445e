import { describe, expect, it } from 'vitest';

import { instantFrom } from '../../../src/analytics/model/instant.ts';
import {
  addToCamera,
  cameraRowFrom,
  cameraWrite,
  emptyCameraRow,
  minutesOf,
} from '../../../src/analytics/rows/camera-row.ts';
import { manifestFrom } from '../../../src/analytics/rows/day-shards.ts';
import { eventRowFrom, eventWrite, instantOf } from '../../../src/analytics/rows/event-row.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import {
  addToBucket,
  bucketsFrom,
  bucketsWrite,
  bucketTally,
  NO_BUCKETS,
} from '../../../src/analytics/rows/hour-rows.ts';
import {
  addSamples,
  minuteRowFrom,
  minuteRowWrite,
  NO_SAMPLES,
  samplesOf,
} from '../../../src/analytics/rows/minute-row.ts';
import { commitNumberOf, fenceFrom, fenceWrite } from '../../../src/analytics/rows/stripes.ts';
import {
  EMPTY_CAMERA_LIST,
  EMPTY_TOTAL,
  totalFrom,
  totalWrites,
  withCameras,
} from '../../../src/analytics/rows/total-row.ts';
import { DamagedRow, decodingRow } from '../../../src/storage/errors.ts';
import type { StoredRow, StoringWrite } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { ONE_FRAME } from '../arbitraries.ts';

const stored = ({ rowKey, properties }: StoringWrite): StoredRow => ({
  partitionKey: '2026-11-21_00',
  rowKey,
  etag: 'e',
  properties: { ...properties, n: 1 },
});

const EPOCH = instantFrom(0n);
const ONE = new Map([['smoke', 1]]);
const CAMERA = addToCamera(emptyCameraRow(0), {
  day: ONE_FRAME,
  hours: new Map([[8, ONE_FRAME]]),
  minutes: new Map([[480, ONE_FRAME]]),
});
const FRAMES = [{ microsecond: 5, cameraIndex: 7, tally: ONE_FRAME }];
const [TOTAL, LIST] = totalWrites(
  undefined,
  { ...EMPTY_TOTAL, cameras: withCameras(EMPTY_CAMERA_LIST, ['ridge-1', 'ridge-2', 'ridge-3']) },
  () => undefined,
).map(stored);
const EVENT = {
  ts: EPOCH,
  facets: {
    detections: { value: ONE, time: EPOCH },
    reviewed: { value: true, time: EPOCH },
    annotations: { value: ONE, time: EPOCH },
  },
};

/** A sound row of each kind, and how everything in it is read. */
const KINDS: Readonly<Record<string, readonly [StoredRow | undefined, (row: StoredRow) => unknown]>> = {
  manifest: [stored({ kind: 'insert', rowKey: 'shards', properties: { shards: 1 } }), manifestFrom],
  fence: [stored(fenceWrite(undefined, 1)), fenceFrom],
  total: [
    TOTAL,
    async (row) => totalFrom(new Table(new MemoryTable(), { format: FORMAT, isCreated: true }), row, 0, LIST),
  ],
  list: [LIST, async (row) => TOTAL && totalFrom(new Table(new MemoryTable(), { format: FORMAT }), TOTAL, 0, row)],
  hours: [
    stored(bucketsWrite('hours', undefined, addToBucket(NO_BUCKETS, 8, ONE_FRAME, [0], ['smoke']) ?? NO_BUCKETS, [8])),
    (row) => decodingRow(row, () => Array.from(bucketsFrom(row).values(), (bucket) => bucketTally(bucket, ['smoke']))),
  ],
  minute: [
    stored(
      minuteRowWrite('minute|0800|00', undefined, addSamples(NO_SAMPLES, FRAMES, ['smoke']) ?? NO_SAMPLES, FRAMES),
    ),
    (row) => decodingRow(row, () => samplesOf(minuteRowFrom(row), 0, 59_999_999)),
  ],
  camera: [
    stored(cameraWrite('ridge-1', undefined, CAMERA, [8])),
    (row) => decodingRow(row, () => [minutesOf(cameraRowFrom(row), 8), commitNumberOf(row)]),
  ],
  event: [stored(eventWrite('event|0000|ridge-1|f', undefined, EVENT)), (row) => [eventRowFrom(row), instantOf(row)]],
};

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
const tally = (categoriesText: string): string =>
  `{"events":1,"reviewed":0,"annotated":0,"categories":${categoriesText}}`;

describe('a damaged row is refused with its keys, and nothing in it is guessed', () => {
  it.each<readonly [kind: string, damages: readonly Record<string, unknown>[]]>([
    ['manifest', [{ shards: '4' }, { shards: 0 }, { shards: 65 }, { shards: 2.5 }, { closes: 'soon' }, { closes: 5 }]],
    ['fence', [{ stripes: '2' }, { stripes: -1 }, { stripes: 65 }]],
    ['total', [{ active_cameras: 4 }, { active_cameras: '3' }, { stripes: '2' }, { n: 'one' }, { day: '{' }]],
    ['total', [{ day: undefined }]],
    ['list', [{ cameras_1: 5 }]],
    ['hours', [{ t08: 'AAA=' }, { a08: 5 }, { t08: undefined }, { a08: undefined }, { a08: bytes(2, 1) }]],
    // It ends too early, a count is too large, and so is an index.
    ['hours', [{ t08: bytes(1) }, { t08: bytes(...Array(9).fill(0xff)) }, { t08: bytes(2, 0xff, 0xff, 0xff, 1, 0) }]],
    // Text, the end of a sample is missing, one is there twice, none is in its second, and one is after its second.
    ['minute', [{ s00: 'AAA=' }, { s00: bytes(5, 7) }, { s00: bytes(5, 7, 0, 0, 7, 0) }, { s01: bytes(1) }]],
    ['minute', [{ s00: bytes(0xbf, 0x84, 0x3d, 7, 0, 2, 7, 0) }]],
    ['camera', [{ place: '12' }, { n: undefined }, { m08: 'AAA=' }, { m08: bytes(0) }, { m08: bytes(60, 0) }]],
    // Minutes out of order, and a category that the day lacks.
    ['camera', [{ m08: bytes(2, 0, 1, 0) }, { day: tally('{}') }, { h08: '{' }, { day: undefined }]],
    ['camera', ['[]', '{', tally('[]'), '{"events":1,"reviewed":0,"annotated":0}'].map((day) => ({ day }))],
    ['camera', ['{"fire":1}', '{"fire":[1,2]}', '{"fire":[1,2,0.5]}'].map((own) => ({ day: tally(own) }))],
    [
      'camera',
      ['{"events":"1"', '{"events":1.5', '{"x":1'].map((own) => ({ day: tally('{}').replace('{"events":1', own) })),
    ],
    ['event', [{ ts_utc: undefined }, { ts_utc: 'yesterday' }, { reviewed_time: undefined }, { reviewed: 'yes' }]],
    ['event', ['5', '{', '{"fire":"1"}', 5].map((detections) => ({ detections }))],
    [
      'event',
      ['{"fire":1.5}', '{"fire":-3}', '{"fire":10001}', '{"no name!":1}'].map((detections) => ({ detections })),
    ],
    ['event', [{ detections_time: 'now' }, { annotations: 5 }, { annotations_time: undefined }]],
  ])('%s: %j', async (kind, damages) => {
    const [row, read] = KINDS[kind] ?? [];
    if (row === undefined || read === undefined) throw new Error('there is no such kind');
    await read(row);
    for (const damage of damages) {
      const damaged = { ...row, properties: { ...row.properties, ...damage } };
      const error: unknown = await (async () => read(damaged))().catch((thrown: unknown) => thrown);
      expect(error, JSON.stringify(damage)).toBeInstanceOf(DamagedRow);
      expect(error).toMatchObject({
        partitionKey: row.partitionKey,
        rowKey: kind === 'list' ? 'cameras|0001' : row.rowKey,
      });
    }
  });
});
