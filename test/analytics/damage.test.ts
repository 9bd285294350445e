import { expect, it } from 'vitest';

import { instantFrom } from '../../src/analytics/model/instant.ts';
import { stateWrite, STRIPED_PROPERTIES } from '../../src/analytics/rows/day-row.ts';
import { DamagedRow } from '../../src/storage/errors.ts';
import type { NewProperties } from '../../src/storage/row.ts';
import {
  all,
  bytes,
  type CountingProcess,
  DATE,
  frame,
  HOUR,
  MemoryStorage,
  MINUTE,
  SHARD,
  START,
  WHOLE_DAY,
} from './counting.ts';
import { DAY, type PlainMessage, type Question } from './oracle.ts';

const EIGHT = START + 8n * HOUR;
const more = (cameraId = 'ridge-1', eventId = 'more'): PlainMessage =>
  frame(cameraId, eventId, EIGHT, { time: EIGHT + 1n, annotations: { smoke: 1 } });

type Work = (process: CountingProcess) => Promise<unknown>;
const range =
  (question: Question): Work =>
  async (process) =>
    process.answer(question);

/** A shard with a frame of each camera in an hour, and then damage to a row. */
const damaged = async (rowKey: string, properties: NewProperties): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  const detections = { smoke: 1, fire: 1 };
  await storage
    .process()
    .record(all(4).map((index) => frame(`ridge-${index}`, 'first', EIGHT + BigInt(index) * MINUTE, { detections })));
  await storage.change(rowKey, properties);
  return storage;
};

const fromEight = (end: bigint, cameraId?: string): Work => range({ start: EIGHT, end: EIGHT + end - 1n, cameraId });

/** The request to a process. */
const WORK = {
  'to record a new event': async (process) => process.record([more()]),
  'to change an event': async (process) => process.record([more('ridge-0', 'first')]),
  'about the whole day': range(WHOLE_DAY),
  'about a day of a camera': range({ ...WHOLE_DAY, cameraId: 'ridge-1' }),
  'about an hour': fromEight(HOUR),
  'about a part of a minute': fromEight(MINUTE + 2n),
  'about minutes of a camera': fromEight(2n * MINUTE, 'ridge-1'),
  'for a series': async ({ reader }) =>
    reader.series({ start: instantFrom(START), end: instantFrom(EIGHT + HOUR) }, 'minute'),
  'for the cameras': async ({ reader }) => reader.cameras(DATE, 1),
  'for the last minutes': async ({ reader }) => reader.lastMinutes(DATE, 1),
  'about the accuracy': async ({ reader }) => reader.accuracy(DATE, 1),
} as const satisfies Record<string, Work>;

/** Four events, and four with smoke: the row counts no fire. */
const WITHOUT_FIRE = { tally: bytes(1, 8, 0, 0, 1, 8), categories: 'smoke' };

it.each<readonly [asked: keyof typeof WORK, rowKey: string, NewProperties]>([
  ['to record a new event', 'day|00', { tally: '{' }],
  ['to record a new event', 'day|00', { tally_08: bytes(1) }],
  ['to record a new event', 'day|00', { active_09: bytes(0) }],
  ['to record a new event', 'day|00', { active_08: new Uint8Array(4_001) }],
  ['to record a new event', 'hour|08|00', { tally_00: bytes(1) }],
  ['to record a new event', 'camera|ridge-1|00', { minutes_08: bytes(0, 1) }],
  ['to change an event', 'event|0800|ridge-0|first', { detections: '{' }],
  ['to change an event', 'event|0800|ridge-0|first', { removed: 'yes' }],
  ['about the whole day', 'day|00', { tally: bytes(1) }],
  ['about the whole day', 'day|00', { categories: 'smoke' }],
  ['about the whole day', 'day|00', { tally: bytes(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0) }],
  ['about the whole day', 'day|00', { striped: 0 }],
  ['about the accuracy', 'day|00', { categories: 7 }],
  ['about an hour', 'day|00', { tally_08: bytes(1) }],
  ['about an hour', 'day|00', WITHOUT_FIRE],
  ['about a part of a minute', 'event|0801|ridge-1|first', { ts_utc: '2026-11-21T08:01:00.000000Z', detections: '[]' }],
  ['about minutes of a camera', 'camera|ridge-1|00', { minutes_08: bytes(0) }],
  ['about a day of a camera', 'day|00', { sealed: 'soon' }],
  ['for a series', 'day|00', { cameras: 7 }],
  ['for the cameras', 'camera|ridge-1|00', { tally: 5 }],
  ['for the last minutes', 'day|00', { active_08: bytes(0b11111) }],
])('a process that is asked %s names the damaged row: %s, %o', async (asked, rowKey, properties) => {
  const storage = await damaged(rowKey, properties);
  const error: unknown = await WORK[asked](storage.process()).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DamagedRow);
  expect(error).toMatchObject({ partitionKey: SHARD, rowKey });
});

const ANSWERS = Object.keys(WORK).filter((asked) => !asked.startsWith('to '));

it.each(ANSWERS)('without the row that says whether there are other stripes, no answer is given: %s', async (asked) => {
  const storage = await damaged('day|00', {});
  await storage.change('day|00', 'deleted');
  const answering = Object.entries(WORK).flatMap(([name, work]) => (name === asked ? [work(storage.process())] : []));
  await expect(Promise.all(answering)).rejects.toMatchObject({ partitionKey: SHARD, rowKey: 'day|00' });
});

it('a row of a stripe without counts is no damage if it is deleted: nothing is lost', async () => {
  const storage = await damaged('day|00', STRIPED_PROPERTIES);
  const before = await storage.process().answer(WHOLE_DAY);
  await storage.memory.transact(SHARD, [stateWrite('day|01', undefined, {})]);
  expect(await storage.process().answer(WHOLE_DAY)).toEqual(before);
  await storage.change('day|01', 'deleted');
  expect(await storage.process().answer(WHOLE_DAY)).toEqual(before);
});

it('a row that lacks a category of other rows lets recorders go on in another stripe, and readers tell the damage', async () => {
  const storage = await damaged('day|00', WITHOUT_FIRE);
  const process = storage.process(1, { random: () => 0.5 });
  expect(await process.record([more('ridge-0')])).toEqual(['recorded']);
  await expect(WORK['about an hour'](storage.process())).rejects.toMatchObject({ rowKey: 'day|00' });
});

it('damage stops no messages that arrive together and do not change that row, and no other day', async () => {
  const storage = await damaged('camera|ridge-1|00', { tally: 'none' });
  const process = storage.process();
  const recording = all(4).map(async (index) => process.record([more(`ridge-${index}`)]));
  const statuses = (await Promise.allSettled(recording)).map(({ status }) => status);
  expect(statuses).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);

  await storage.change('day|00', { tally: 'none' });
  const later = frame('ridge-1', 'later', EIGHT + DAY);
  await expect(storage.process().record([more(), later])).rejects.toMatchObject({ rowKey: 'day|00' });
  expect(await storage.process().record([later])).toEqual(['unchanged']);
});
