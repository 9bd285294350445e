import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { CountingStorage } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import { damage, damagedRowOf } from '../damage.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const HOUR = 3_600_000_000n;
const SHARD = `${dayOf(instantFrom(START))}_00`;
const CAMERAS = ['ridge-0', 'ridge-1', 'ridge-2', 'ridge-3'];

const frame = (cameraId: string, eventId: string, hour: bigint, detections: Record<string, number>): PlainMessage => {
  const ts = START + hour * HOUR;
  return { cameraId, eventId, ts, time: ts, detections };
};

/** A frame of each camera in an hour, in a storage of its own. */
const recorded = async (): Promise<CountingStorage> => {
  const storage = new CountingStorage();
  await storage.process().record(CAMERAS.map((camera) => frame(camera, 'first', 8n, { smoke: 1, fire: 1 })));
  return storage;
};

/** Each of these hits one row of ridge-1 at 08:00, or of the whole shard. */
const DAMAGE: readonly (readonly [string, Record<string, unknown>])[] = [
  ['total', { day: '{' }],
  ['total', { active_cameras: 'four' }],
  ['hours', { t08: new Uint8Array([1]) }],
  ['hour|08', { t00: 'text' }],
  ['hour|08', { a00: 5 }],
  ['minute|0800|00', { s00: new Uint8Array([1]) }],
  ['camera|ridge-1', { place: 'none' }],
  ['camera|ridge-1', { m08: new Uint8Array([0, 1]) }],
  ['event|0800|ridge-1|first', { detections: '{' }],
];

describe('recording to a damaged row', () => {
  it.each(DAMAGE)('%s fails with the keys of the row: %j', async (rowKey, properties) => {
    const storage = await recorded();
    await damage(storage, SHARD, rowKey, properties);
    const edit: PlainMessage = { ...frame('ridge-1', 'first', 8n, { fog: 1 }), time: START + DAY, reviewed: true };
    const { detections: _, ...review } = edit;
    expect(await damagedRowOf(storage.process().record([review]))).toEqual([SHARD, rowKey]);
  });

  it('fails with the total where that lacks a category that a bucket has, and does not try for long', async () => {
    const storage = await recorded();
    await damage(storage, SHARD, 'total', {
      day: '{"events":4,"reviewed":0,"annotated":0,"categories":{"smoke":[4,0,0]}}',
    });
    const batch = CAMERAS.map((camera) => frame(camera, 'second', 8n, { smoke: 1 }));
    expect(await damagedRowOf(storage.process().record(batch))).toEqual([SHARD, 'total']);
  });

  it('does not stop messages that arrive together and do not change that row', async () => {
    const storage = await recorded();
    await damage(storage, SHARD, 'camera|ridge-1', { place: 'none' });
    const process = storage.process();
    const batch = CAMERAS.map((camera) => frame(camera, 'second', 8n, { smoke: 1 }));

    const settled = await Promise.allSettled(batch.map(async (message) => process.record([message])));

    expect(settled.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
      ['recorded'],
      'failed',
      ['recorded'],
      ['recorded'],
    ]);
    const rest = batch.filter(({ cameraId }) => cameraId !== 'ridge-1');
    expect(await storage.process().record(rest)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  });

  it('does not stop the messages of other days, nor those of the same request', async () => {
    const storage = await recorded();
    const [day, next] = [START, START + DAY].map((start) => dayOf(instantFrom(start)));
    await damage(storage, `${day}`, 'shards', { shards: 'two' });
    const later = frame('ridge-1', 'later', 32n, { smoke: 1 });

    const request = storage.process().record([frame('ridge-0', 'second', 8n, { smoke: 1 }), later]);

    expect(await damagedRowOf(request)).toEqual([day, 'shards']);
    expect(await storage.process().record([later])).toEqual(['unchanged']);
    expect(next).toBe('2026-11-22');
  });
});

/** A table with a bug: reading the row of one camera does something that nobody expected. */
class BuggyTable extends Table {
  override async get(...args: Parameters<Table['get']>): Promise<StoredRow | undefined> {
    const [, rowKey] = args;
    if (rowKey === 'camera|ridge-1') throw new TypeError('a bug');
    return super.get(...args);
  }
}

describe('a bug', () => {
  it('is thrown as itself, neither as damage nor as trouble with storage, and other messages are recorded', async () => {
    const storage = await recorded();
    const table = new BuggyTable(new AzureTable(() => storage.client()), { format: FORMAT });
    const errors: unknown[] = [];
    const log = { info: () => undefined, warn: () => undefined, error: (message: string) => void errors.push(message) };
    const recorder = new Recorder(table, new DayShards(table, 1), log);
    const [bug, other] = ['ridge-1', 'ridge-2'].map((camera) =>
      recorder.record([toEventMessage(frame(camera, 'second', 8n, { smoke: 1 }))]),
    );

    const error: unknown = await bug?.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).not.toBeInstanceOf(DamagedRow);
    expect(await other).toEqual(['recorded']);
    expect(errors).toEqual([]);
  });
});
