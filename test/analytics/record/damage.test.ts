import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import type { NewProperties, StoredRow } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { CountingProcess, MemoryStorage } from '../counting.ts';
import { damagedRowOf } from '../damage.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const HOUR = 3_600_000_000n;
const SHARD = `${dayOf(instantFrom(START))}_00`;
const CAMERAS = ['ridge-0', 'ridge-1', 'ridge-2', 'ridge-3'];

const frame = (cameraId: string, eventId: string, hour: bigint, detections: Record<string, number>): PlainMessage => {
  const ts = START + hour * HOUR;
  return { cameraId, eventId, ts, time: ts, detections };
};

/** A frame of each camera in an hour, in a storage of its own, and then damage to a row. */
const damaged = async (partitionKey: string, rowKey: string, properties: NewProperties): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  await storage.process().record(CAMERAS.map((camera) => frame(camera, 'first', 8n, { smoke: 1, fire: 1 })));
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
    const { detections: _, ...identity } = frame('ridge-1', 'first', 8n, {});
    const review = { ...identity, time: START + DAY, reviewed: true };
    expect(await damagedRowOf(storage.process().record([review]))).toEqual([SHARD, rowKey]);
  });

  it('fails with the total where that lacks a category that a bucket has, and does not try for long', async () => {
    const storage = await damaged(SHARD, 'total', {
      day: '{"events":4,"reviewed":0,"annotated":0,"categories":{"smoke":[4,0,0]}}',
    });
    const batch = CAMERAS.map((camera) => frame(camera, 'second', 8n, { smoke: 1 }));
    expect(await damagedRowOf(storage.process().record(batch))).toEqual([SHARD, 'total']);
  });

  it('does not stop messages that arrive together and do not change that row', async () => {
    const storage = await damaged(SHARD, 'camera|ridge-1', { place: 'none' });
    const process = storage.process();
    const batch = CAMERAS.map((camera) => frame(camera, 'second', 8n, { smoke: 1 }));
    const settled = await Promise.allSettled(batch.map(async (message) => process.record([message])));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    const rest = batch.filter(({ cameraId }) => cameraId !== 'ridge-1');
    expect(await storage.process().record(rest)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  });

  it('does not stop the messages of other days in the same request', async () => {
    const day = dayOf(instantFrom(START));
    const storage = await damaged(day, 'shards', { shards: 'two' });
    const later = frame('ridge-1', 'later', 32n, { smoke: 1 });
    const request = storage.process().record([frame('ridge-0', 'second', 8n, { smoke: 1 }), later]);
    expect(await damagedRowOf(request)).toEqual([day, 'shards']);
    expect(await storage.process().record([later])).toEqual(['unchanged']);
  });
});

/** A table with a bug: reading the row of one camera does something that nobody expected. */
class BuggyTable extends MemoryTable {
  isBuggy = false;

  override async get(...args: Parameters<MemoryTable['get']>): Promise<StoredRow | undefined> {
    if (this.isBuggy && args[1] === 'camera|ridge-1') throw new TypeError('a bug');
    return super.get(...args);
  }
}

describe('a bug', () => {
  it('is thrown as itself, neither as damage nor as trouble with storage, and other messages are recorded', async () => {
    const table = new BuggyTable();
    await new CountingProcess(table, 1).record(CAMERAS.map((camera) => frame(camera, 'first', 8n, { smoke: 1 })));
    table.isBuggy = true;
    const process = new CountingProcess(table, 1);
    const [bug, other] = ['ridge-1', 'ridge-2'].map((camera) => process.record([frame(camera, 'second', 8n, {})]));
    const error: unknown = await bug?.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).not.toBeInstanceOf(DamagedRow);
    expect(await other).toEqual(['recorded']);
  });
});
