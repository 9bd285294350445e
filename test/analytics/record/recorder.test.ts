import { describe, expect, it, vi } from 'vitest';

import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CLOSED_DAY, MAX_WAITING_OF_SHARD } from '../../../src/analytics/record/committer.ts';
import { RowMemory } from '../../../src/analytics/record/shard-writer.ts';
import { DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import { DamagedRow, RequestRefused, StorageTrouble } from '../../../src/storage/errors.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { InterposedTable, type TableRequest, type Turn } from '../../storage/interposed-table.ts';
import { all, CountingProcess, damagedRowOf, DATE, frame, MemoryStorage, SHARD, START } from '../counting.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

const SECOND = 1_000_000n;

/** A process on a table in memory, and the lines that it logs. Between tries it does not wait. */
const processOn = (turn: Turn) => {
  const storage = new InterposedTable(turn);
  const lines: unknown[] = [];
  const note = (event: string, fields?: object): void => void lines.push([event, fields]);
  const log = { info: note, warn: note, error: note };
  return { storage, lines, process: new CountingProcess(storage, 1, { log, pause: async () => undefined }) };
};

/** Whether a request writes to a shard. */
const isCommit = ({ kind, partition }: TableRequest): boolean => kind === 'transact' && partition.includes('_');

it('a steady stream of new frames takes one read a minute, and as few transactions as it fits in', async () => {
  const requests = { get: 0, page: 0, transact: 0, create: 0 };
  const { process } = processOn(async ({ kind }) => void (requests[kind] += 1));
  const at = START + 3_540n * SECOND;
  const cameras = ['a', 'b', 'c'];
  await process.record(cameras.map((cameraId) => frame(cameraId, 'first', at)));
  Object.assign(requests, { get: 0, page: 0, transact: 0, create: 0 });
  const frames = all(540).map((index) =>
    frame(cameras[index % cameras.length] ?? '', `f-${index}`, at + (BigInt(index + 1) * SECOND) / 2n),
  );
  for (const one of frames.slice(0, 240)) await process.record([one]);
  // The second half of each minute is looked for, once.
  expect(requests).toEqual({ get: 2, page: 0, transact: 240, create: 0 });
  await process.record(frames.slice(240));
  expect(requests).toEqual({ get: 4, page: 0, transact: 244, create: 0 });
});

describe('what waits to be recorded', () => {
  it("is bounded from the moment it is taken, also while the day's first event claims it", async () => {
    const opened = Promise.withResolvers<void>();
    const { process, lines } = processOn(async () => opened.promise);
    const first = process.record(all(15_000).map((index) => frame('a', `f-${index}`)));
    const more = Array.from({ length: 40_000 }, () => frame('a', 'same'));
    await expect(process.record(more)).rejects.toThrow(RecorderUnavailable);
    expect(lines).toEqual([['too many messages wait to be recorded', { waiting: 15_000 }]]);
    opened.resolve();
    expect(await first).toHaveLength(15_000);
    expect(await process.record([frame('a', 'f-0')])).toEqual(['unchanged']);
  }, 60_000);

  it('for one shard is bounded by itself: others go on', async () => {
    const opened = Promise.withResolvers<void>();
    const { process } = processOn(async (request) => {
      if (isCommit(request) && request.partition === SHARD) await opened.promise;
    });
    const waiting = all(MAX_WAITING_OF_SHARD + 200).map((index) => frame('a', `f-${index}`));
    const tooMany = process.record(waiting).catch((error: unknown) => error);
    expect(await process.record([frame('a', 'f', START + DAY)])).toEqual(['recorded']);
    opened.resolve();
    expect(await tooMany).toBeInstanceOf(RecorderUnavailable);
    const { total_events } = await process.answer({ start: START, end: START + DAY - 1n });
    expect(total_events).toBe(MAX_WAITING_OF_SHARD);
  }, 60_000);

  it('is answered when all of it is stored, also the latest', async () => {
    const { process } = processOn(async () => undefined);
    let answered = 0;
    for (const eventId of ['1', '2']) void process.record([frame('a', eventId)]).then(() => (answered += 1));
    expect(answered).toBe(0);
    await process.recorder.allAnswered();
    expect(answered).toBe(2);
  });
});

it('an outage is answered after bounded tries, and at once for the messages that wait behind', async () => {
  let transactions = 0;
  const { process, lines } = processOn(async (request) => {
    if (!isCommit(request)) return;
    transactions += 1;
    throw new StorageTrouble(0);
  });
  const settled = await Promise.allSettled(all(1_000).map(async (index) => process.record([frame('a', `f-${index}`)])));
  expect(new Set(settled.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(transactions, '7 tries of one batch').toBe(7);
  expect(lines[0]).toEqual(['events not recorded', { kind: 'StorageTrouble' }]);
});

/** The answer to a request does not arrive. */
const lost = (): never => {
  throw new StorageTrouble(0);
};

describe('a message whose transaction was never answered', () => {
  it('was recorded, and is said to be', async () => {
    let lose: (() => never) | undefined = lost;
    const { process } = processOn(async (request) => {
      if (!isCommit(request)) return undefined;
      const loses = lose;
      lose = undefined;
      return loses;
    });
    expect(await process.record([frame('a', 'f')])).toEqual(['recorded']);
    expect(lose).toBeUndefined();
  });

  it('fails if its day has closed meanwhile: nothing tells whether it was counted', async () => {
    const closes = Date.parse('2026-11-24T00:00:00Z');
    const clock = vi.spyOn(Date, 'now').mockReturnValue(closes - 1_000);
    let isLosing = false;
    const { storage, process } = processOn(async (request) => {
      if (!isCommit(request) || !isLosing) return undefined;
      clock.mockReturnValue(closes);
      return lost;
    });
    await process.days.claim(DATE);
    const properties = { closes: new Date(closes).toISOString() };
    await storage.transact(DAYS_PARTITION, [{ kind: 'merge', rowKey: DATE, etag: '*', properties }]);
    // With no memory of the day as it was.
    const other = new CountingProcess(storage, 1, { pause: async () => undefined });
    await other.record([frame('a', 'early')]);
    isLosing = true;
    await expect(other.record([frame('a', 'late')])).rejects.toThrow(RecorderUnavailable);
    expect(await other.record([frame('a', 'later')])).toEqual([CLOSED_DAY]);
  });
});

it('days in trouble hold up no other day', async () => {
  const healthy = START + 20n * DAY;
  const name = dayOf(instantFrom(healthy));
  const stuck = Promise.withResolvers<void>();
  const { process } = processOn(async (request) => {
    if (isCommit(request) && !request.partition.startsWith(name)) await stuck.promise;
  });
  const waiting = all(20).map(async (day) => process.record([frame('a', 'f', START + BigInt(day) * DAY)]));
  expect(await process.record([frame('a', 'f', healthy)])).toEqual(['recorded']);
  stuck.resolve();
  expect((await Promise.all(waiting)).flat()).toEqual(all(20).map(() => 'recorded'));
});

it('more shards than committers are kept idle are written by one each, so that no process is in its own way', async () => {
  const { connection } = new MemoryStorage();
  const process = new CountingProcess(connection);
  const days = all(1_100).map((day) => frame('a', 'f', START - BigInt(day) * DAY));
  const more = days.map((one) => Object.assign({}, one, { eventId: 'g' }));
  await Promise.all([process.record(days), process.record(more)]);
  const stripes = connection
    .partitions()
    .flatMap((one) => connection.rows(one).filter(({ rowKey }) => rowKey === 'day 01'));
  expect(stripes).toEqual([]);
});

it('the counter rows that a process remembers, of all shards together, take bounded memory: the least recently used ones go', () => {
  const { rows } = new RowMemory();
  const value = new Map([[0, new Uint8Array(524_288)]]);
  for (const index of all(200)) rows.set(`minute|${index}`, { kind: 'minute', value, etag: '' });
  expect(rows.size).toBe(95);
  expect(rows.has('minute|199')).toBe(true);
});

/** Storage fails each commit that has one of these events. */
const failing = (poison: readonly string[], error: Error) =>
  processOn(async (request) => {
    if (isCommit(request) && request.rowKeys.some((key) => poison.some((eventId) => key.endsWith(`|${eventId}`))))
      throw error;
  });

/** 300 frames with bad ones in their middle, which arrive together. */
const withPoison = (poison: readonly string[]): readonly PlainMessage[] =>
  all(300)
    .map((index) => `f-${index}`)
    .toSpliced(150, 0, ...poison)
    .map((eventId, at) => frame(`ridge-${at % 12}`, eventId));

it('a message that storage always refuses is told so, and all others are recorded; it can be sent again', async () => {
  const poison = ['poison-1', 'poison-2'];
  const { storage, process } = failing(poison, new RequestRefused(400));
  const messages = withPoison(poison);
  const outcomes = await process.record(messages);
  expect(messages.filter((_, at) => typeof outcomes[at] === 'object').map(({ eventId }) => eventId)).toEqual(poison);
  storage.turn = async () => undefined;
  await process.record(messages);
  const { is, should } = await process.answered(messages);
  expect(is).toEqual(should);
});

const EIGHT = START + 8n * 3_600n * SECOND;
const ofEach = (eventId: string, more: Partial<PlainMessage> = {}) =>
  all(4).map((camera) => frame(`ridge-${camera}`, eventId, EIGHT, more));
const second = ofEach('second');

/** A frame of each camera in an hour, in a storage of its own, and then damage to a row. */
const damaged = async (partitionKey: string, rowKey: string, properties: NewProperties): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  await storage.process().record(ofEach('first', { detections: { smoke: 1, fire: 1 } }));
  await storage.connection.transact(partitionKey, [{ kind: 'merge', rowKey, etag: '*', properties }]);
  return storage;
};

// What damage there can be to each kind of row is tested with the rows.
describe('recording to a damaged row', () => {
  it.each<readonly [string, NewProperties]>([
    ['day', { day: '{' }],
    ['day', { tally_08: new Uint8Array([1]) }],
    ['minute|0800|00', { second_00: new Uint8Array([1]) }],
    ['camera|ridge-1', { minutes_08: new Uint8Array([0, 1]) }],
    ['event|0800|ridge-1|first', { detections: '{' }],
  ])('%s fails with the keys of the row, and does not try for long: %j', async (rowKey, properties) => {
    const storage = await damaged(SHARD, rowKey, properties);
    const messages = rowKey.startsWith('event') ? ofEach('first', { time: EIGHT + 1n, reviewed: true }) : second;
    expect(await damagedRowOf(storage.process().record(messages))).toEqual([SHARD, rowKey]);
  });

  it('that lacks a category of other rows goes on in another stripe: event rows are right, and readers tell the damage', async () => {
    const properties = { day: '{"events":4,"reviewed":0,"annotated":0,"categories":{"smoke":[4,0,0,0,0]}}' };
    const storage = await damaged(SHARD, 'day', properties);
    expect(new Set(await storage.process().record(second))).toEqual(new Set(['recorded']));
    const hour = { start: EIGHT, end: EIGHT + 3_600n * SECOND - 1n };
    expect(await damagedRowOf(storage.process().answer(hour))).toEqual([SHARD, 'day']);
  });

  it('does not stop messages that arrive together and do not change that row', async () => {
    const storage = await damaged(SHARD, 'camera|ridge-1', { day: 'none' });
    const process = storage.process();
    const settled = await Promise.allSettled(second.map(async (message) => process.record([message])));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    const rest = second.filter(({ cameraId }) => cameraId !== 'ridge-1');
    expect(await storage.process().record(rest)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  });

  it('does not stop the messages of other days in the same request', async () => {
    const storage = await damaged(DAYS_PARTITION, DATE, { shards: 'two' });
    const later = frame('ridge-1', 'later', EIGHT + DAY);
    expect(await damagedRowOf(storage.process().record([...second, later]))).toEqual([DAYS_PARTITION, DATE]);
    expect(await storage.process().record([later])).toEqual(['unchanged']);
  });
});

it('a bug is thrown as itself, neither as damage nor as trouble with storage, and other messages are recorded', async () => {
  const { storage, process } = processOn(async () => undefined);
  await new CountingProcess(storage).record(ofEach('first'));
  storage.turn = async ({ rowKeys }) => {
    if (rowKeys[0] === 'camera|ridge-1') throw new TypeError('a bug');
  };
  const [bug, other] = ['ridge-1', 'ridge-2'].map((camera) => process.record([frame(camera, 'second', EIGHT)]));
  const error: unknown = await bug?.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TypeError);
  expect(error).not.toBeInstanceOf(DamagedRow);
  expect(await other).toEqual(['recorded']);
});
