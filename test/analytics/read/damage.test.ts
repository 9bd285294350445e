import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CountingStorage } from '../counting.ts';
import { damage, damagedRowOf } from '../damage.ts';
import { DAY, type Question } from '../oracle.ts';

const START = 20_778n * DAY;
const [SECOND, MINUTE, HOUR] = [1_000_000n, 60_000_000n, 3_600_000_000n];
const DATE = dayOf(instantFrom(START));
const SHARD = `${DATE}_00`;

/** From 07:00 to the middle of the second 08:01:00. */
const PERIOD = { start: START + 7n * HOUR, end: START + 8n * HOUR + MINUTE + SECOND / 2n };
const WHOLE_DAY = { start: START, end: START + DAY - 1n };
const LATER_HOUR = { start: START + 8n * HOUR, end: START + 9n * HOUR - 1n };

describe('a question that needs a damaged row', () => {
  it.each<readonly [string, Question, string, string, Record<string, unknown>]>([
    ['a day', WHOLE_DAY, DATE, 'shards', { shards: 65 }],
    ['a day', WHOLE_DAY, SHARD, 'total', { day: '{"events":1}' }],
    ['a day', WHOLE_DAY, SHARD, 'total', { active_cameras: 9 }],
    ['a day of a camera', { ...WHOLE_DAY, cameraId: 'ridge-1' }, SHARD, 'camera|ridge-1', { day: 5 }],
    ['an hour', LATER_HOUR, SHARD, 'hours', { t08: new Uint8Array([1]) }],
    ['an hour', LATER_HOUR, SHARD, 'total', { day: '{"events":2,"reviewed":0,"annotated":0,"categories":{}}' }],
    ['a minute', PERIOD, SHARD, 'hour|08', { t00: 'text' }],
    ['half a second', PERIOD, SHARD, 'minute|0801|00', { s00: new Uint8Array([1]) }],
    ['a minute of a camera', { ...PERIOD, cameraId: 'ridge-1' }, SHARD, 'camera|ridge-1', { m08: new Uint8Array([0]) }],
  ])('fails with the keys of the row: %s, %o', async (_name, question, partition, rowKey, properties) => {
    const storage = new CountingStorage();
    await storage.process().record(
      [0n, MINUTE].map((offset) => {
        const ts = START + 8n * HOUR + offset;
        return { cameraId: 'ridge-1', eventId: 'f', ts, time: ts, detections: { smoke: 1 } };
      }),
    );
    expect(await storage.process().answer(question)).toMatchObject({ active_camera_ids: ['ridge-1'] });
    await damage(storage, partition, rowKey, properties);
    expect(await damagedRowOf(storage.process().answer(question))).toEqual([partition, rowKey]);
  });
});
