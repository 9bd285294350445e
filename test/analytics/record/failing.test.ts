import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DamagedRow, RequestRefused, StorageTrouble } from '../../../src/storage/errors.ts';
import type { NewProperties, RowWrite, StoredRow } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { CountingProcess, damagedRowOf, MemoryStorage } from '../counting.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const EIGHT = START + 8n * 3_600_000_000n;
const DATE = dayOf(instantFrom(START));
const SHARD = `${DATE}_00`;
const CAMERAS = ['ridge-0', 'ridge-1', 'ridge-2', 'ridge-3'];

const frame = (cameraId: string, eventId: string, ts = EIGHT): PlainMessage => ({
  cameraId,
  eventId,
  ts,
  time: ts,
  detections: { smoke: 1 },
});
const first = CAMERAS.map((camera) => ({ ...frame(camera, 'first'), detections: { smoke: 1, fire: 1 } }));
const second = CAMERAS.map((camera) => frame(camera, 'second'));

/** Storage fails every transaction that has an event of one of these names, and has a bug with reads of one row. */
class FailingTable extends MemoryTable {
  failing: readonly string[] = [];
  error: Error = new StorageTrouble(0);
  buggyRow = '';

  override async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    if (writes.some(({ rowKey }) => this.failing.some((eventId) => rowKey.includes(eventId)))) throw this.error;
    return super.transact(partitionKey, writes);
  }

  override async get(...args: Parameters<MemoryTable['get']>): Promise<StoredRow | undefined> {
    if (args[1] === this.buggyRow) throw new TypeError('a bug');
    return super.get(...args);
  }
}

const failingWith = (error: Error, failing: readonly string[]) => {
  const table = Object.assign(new FailingTable(), { failing, error });
  // How long a recorder waits between its tries is no matter here, only how often it tries.
  return { table, process: new CountingProcess(table, 1, { pause: async () => setImmediate() }) };
};

/** 300 frames with bad ones in their middle, which arrive together. */
const withPoison = (poison: readonly string[]): readonly PlainMessage[] => {
  const names = Array.from({ length: 300 }, (_, index) => `f-${index}`);
  return names.toSpliced(150, 0, ...poison).map((eventId, at) => frame(`ridge-${at % 12}`, eventId));
};

const expectCounted = async (process: CountingProcess, messages: readonly PlainMessage[]): Promise<void> => {
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  const wholeDay = { start: START, end: START + DAY - 1n };
  expect(await process.answer(wholeDay)).toEqual(oracle.answer(wholeDay));
};

describe('a message that storage always refuses', () => {
  it('is told so, and all others are recorded; it can be sent again', async () => {
    const poison = ['poison-1', 'poison-2'];
    const { table, process } = failingWith(new RequestRefused(400), poison);
    const messages = withPoison(poison);
    const outcomes = await process.record(messages);
    expect(messages.filter((_, at) => typeof outcomes[at] === 'object').map(({ eventId }) => eventId)).toEqual(poison);
    table.failing = [];
    await process.record(messages);
    await expectCounted(process, messages);
  });
});

describe('a message that storage fails each time', () => {
  it('fails alone, and those beside it and behind it are recorded', async () => {
    const { process } = failingWith(new StorageTrouble(0), ['poison']);
    const messages = withPoison(['poison']);
    const settled = await Promise.allSettled(messages.map(async (message) => process.record([message])));
    const [poison, ...none] = messages.filter((_, at) => settled[at]?.status === 'rejected');
    expect([poison?.eventId, none]).toEqual(['poison', []]);

    const alone = process.record(poison ? [poison] : []);
    const recorded = process.record(second);
    await expect(alone).rejects.toThrow(RecorderUnavailable);
    expect(new Set(await recorded)).toEqual(new Set(['recorded']));
    await expectCounted(process, [...messages.filter((message) => message !== poison), ...second]);
  });
});

/** A frame of each camera in an hour, in a storage of its own, and then damage to a row. */
const damaged = async (partitionKey: string, rowKey: string, properties: NewProperties): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  await storage.process().record(first);
  await storage.connection.transact(partitionKey, [{ kind: 'merge', rowKey, etag: '*', properties }]);
  return storage;
};

describe('recording to a damaged row', () => {
  // Each of these hits one row of ridge-1 at 08:00, or of the whole shard.
  it.each<readonly [string, NewProperties]>([
    ['total', { day: '{' }],
    ['total', { active_cameras: 'four' }],
    ['hours', { t08: new Uint8Array([1]) }],
    ['hour|08', { t00: 'text' }],
    ['hour|08', { a00: 5 }],
    ['minute|0800|00', { s00: new Uint8Array([1]) }],
    ['camera|ridge-1', { place: 'none' }],
    ['camera|ridge-1', { m08: new Uint8Array([0, 1]) }],
    ['event|0800|ridge-1|first', { detections: '{' }],
  ])('%s fails with the keys of the row: %j', async (rowKey, properties) => {
    const storage = await damaged(SHARD, rowKey, properties);
    const { detections: _, ...identity } = frame('ridge-1', 'first');
    const review = { ...identity, time: START + DAY, reviewed: true };
    expect(await damagedRowOf(storage.process().record([review]))).toEqual([SHARD, rowKey]);
  });

  it('fails with the total where that lacks a category that a bucket has, and does not try for long', async () => {
    const day = '{"events":4,"reviewed":0,"annotated":0,"categories":{"smoke":[4,0,0]}}';
    const storage = await damaged(SHARD, 'total', { day });
    expect(await damagedRowOf(storage.process().record(second))).toEqual([SHARD, 'total']);
  });

  it('does not stop messages that arrive together and do not change that row', async () => {
    const storage = await damaged(SHARD, 'camera|ridge-1', { place: 'none' });
    const process = storage.process();
    const settled = await Promise.allSettled(second.map(async (message) => process.record([message])));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    const rest = second.filter(({ cameraId }) => cameraId !== 'ridge-1');
    expect(await storage.process().record(rest)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  });

  it('does not stop the messages of other days in the same request', async () => {
    const storage = await damaged(DATE, 'shards', { shards: 'two' });
    const later = frame('ridge-1', 'later', EIGHT + DAY);
    expect(await damagedRowOf(storage.process().record([...second, later]))).toEqual([DATE, 'shards']);
    expect(await storage.process().record([later])).toEqual(['unchanged']);
  });

  it('a bug is thrown as itself, neither as damage nor as trouble with storage, and other messages are recorded', async () => {
    const table = new FailingTable();
    await new CountingProcess(table, 1).record(first);
    table.buggyRow = 'camera|ridge-1';
    const process = new CountingProcess(table, 1);
    const [bug, other] = ['ridge-1', 'ridge-2'].map((camera) => process.record([frame(camera, 'second')]));
    const error: unknown = await bug?.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).not.toBeInstanceOf(DamagedRow);
    expect(await other).toEqual(['recorded']);
  });
});
