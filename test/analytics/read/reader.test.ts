import { beforeAll, describe, expect, it, vi } from 'vitest';

import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/steps.ts';
import { packBitset } from '../../../src/analytics/rows/bitset.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { InterposedTable } from '../../storage/interposed-table.ts';
import {
  all,
  bytes,
  CountingProcess,
  damagedRowOf,
  DATE,
  frame,
  HOUR,
  MemoryStorage,
  MINUTE,
  SECOND,
  SHARD,
  START,
  WHOLE_DAY,
} from '../counting.ts';
import { DAY, type PlainMessage, type Question } from '../oracle.ts';

/** A question, or one about the steps of its period. */
interface Asked extends Question {
  readonly step?: Step;
}

const recorded = async (messages: readonly PlainMessage[]): Promise<InterposedTable> => {
  const storage = new InterposedTable();
  await new CountingProcess(storage).record(messages);
  return storage;
};

/** What a reader without memory asks storage for. */
const requestsOf = async (storage: InterposedTable, ask: (process: CountingProcess) => Promise<unknown>) => {
  const requests: unknown[] = [];
  storage.turn = async ({ kind, select }) => {
    if (kind !== 'create') requests.push(kind === 'page' ? select : kind);
  };
  await ask(new CountingProcess(storage));
  return requests;
};

const answer = async (process: CountingProcess, { step, ...question }: Asked): Promise<unknown> => {
  const period = { start: instantFrom(question.start), end: instantFrom(question.end) };
  return step === undefined ? process.answer(question) : process.reader.series(period, step, question.cameraId);
};

/** Frames over two days at a fixed interval, of some cameras in turn. */
const network = (cameras: number, everyMicroseconds: bigint): readonly PlainMessage[] =>
  all(Number((2n * DAY) / everyMicroseconds)).map((index) =>
    frame(`ridge-${index % cameras}`, `f-${index}`, START + BigInt(index) * everyMicroseconds),
  );

const RAGGED = 20n * MINUTE + 12_345_678n;
const RAGGED_DAY = { start: START + RAGGED, end: START + DAY - RAGGED };
const lasting = (length: bigint): Question => ({ start: START + RAGGED, end: START + RAGGED + length });

// That every answer is right is played in the world of counting.
describe('however many events and cameras there are, and with a read of the row of each day, a question', () => {
  let networks: readonly InterposedTable[] = [];
  beforeAll(async () => {
    networks = [await recorded(network(10, 30n * MINUTE)), await recorded(network(300, 2n * MINUTE))];
  });
  const cameraId = 'ridge-7';

  it.each<readonly [string, number, Asked]>([
    ['an hour', 7, lasting(HOUR)],
    ['36 hours', 9, lasting(36n * HOUR)],
    ['36 hours of a camera', 9, { ...lasting(36n * HOUR), cameraId }],
    ['half a second', 3, lasting(SECOND / 2n)],
    ['three days of which one is empty', 6, { start: START, end: START + 3n * DAY - 1n }],
    ['a whole day of a camera', 3, { ...WHOLE_DAY, cameraId }],
    ['a day as a step', 2, { ...WHOLE_DAY, step: 'day' }],
    ['the hours of a ragged day', 8, { ...RAGGED_DAY, step: 'hour' }],
    ['the minutes of a ragged day', 30, { ...RAGGED_DAY, step: 'minute' }],
    ['the minutes of a day of a camera', 3, { ...WHOLE_DAY, cameraId, step: 'minute' }],
    ['the hours of a ragged day of a camera', 7, { ...RAGGED_DAY, cameraId, step: 'hour' }],
  ])('about %s makes %i requests, and no query', async (_, count, asked) => {
    for (const storage of networks) {
      const requests = await requestsOf(storage, async (process) => answer(process, asked));
      expect(requests).toHaveLength(count);
      expect(requests.filter((kind) => kind !== 'get' && kind !== 'firstPartition')).toEqual([]);
    }
  });

  it.each([1, 3])('about the cameras of a day makes one query for each of %i shards, without hours', async (shards) => {
    const storage = new InterposedTable();
    await new CountingProcess(storage, shards).record(network(7, 72n * MINUTE));
    const requests = await requestsOf(storage, async ({ reader }) => {
      const cameras = await reader.cameras(DATE, 1);
      expect(cameras.map(({ cameraId: id, tally }) => `${id}: ${tally.events}`).toSorted()).toEqual(
        [3, 3, 3, 3, 3, 3, 2].map((events, index) => `ridge-${index}: ${events}`),
      );
    });
    const perShard = all(shards);
    expect(requests).toEqual(['get', ...perShard.map(() => ['day', 'format']), ...perShard.map(() => 'get')]);
  });
});

it('a counter of several stripes is read in one page; after three pages that storage cuts off, by key until two readings agree', async () => {
  const storage = new InterposedTable();
  const instances = [new CountingProcess(storage), new CountingProcess(storage)];
  for (const index of all(3)) await instances[index % 2]?.record([frame('ridge-0', `f-${index}`)]);
  const kinds = async () =>
    (await requestsOf(storage, async (process) => process.answer(WHOLE_DAY))).map((kind) =>
      kind === 'get' ? kind : 'page',
    );
  // The row of the day, and the row of the first stripe, which names the second.
  expect(await kinds()).toEqual(['get', 'get', 'page']);
  vi.spyOn(storage.memory, 'page').mockResolvedValue({ rows: [], continuation: 'more' });
  const reading = ['get', 'get', 'get'];
  expect(await kinds()).toEqual(['get', 'get', 'page', 'page', 'page', ...reading, ...reading]);
});

describe('the last minutes of cameras', () => {
  it('are those of their events, whatever instance counted them in whichever shard, on however many days', async () => {
    const storage = new MemoryStorage();
    const instances = [storage.process(3), storage.process(3)];
    const messages = all(60).map((index) =>
      frame(`ridge-${index % 7}`, `f-${index}`, START + BigInt((index * 7_919_333_333) % 259_200_000_000) - 2n * DAY),
    );
    // Both at the same time, so each writes into its own stripe.
    await Promise.all(instances.map(async (one, at) => one.record(messages.filter((_, index) => index % 2 === at))));
    await Promise.all(instances.map(async (one, at) => one.record([frame('late', `l-${at}`, START + 5n * HOUR)])));
    for (const days of [1, 2, 3]) {
      const last = new Map<string, bigint>([['late', START + 5n * HOUR]]);
      for (const { cameraId, ts } of messages) {
        const minute = ts - (ts % MINUTE);
        if (ts >= START - BigInt(days - 1) * DAY && minute > (last.get(cameraId) ?? 0n)) last.set(cameraId, minute);
      }
      expect(await storage.process().reader.lastMinutes(DATE, days)).toEqual(last);
      const one = await storage.process().reader.lastMinutes(DATE, days, new Set(['late']));
      expect([...one.keys()]).toEqual(['late']);
    }
  });

  it('cost four reads by key if they send now, however many there are and however many days are asked about', async () => {
    const cameras = all(300).map((index) => `ridge-${index}`);
    const storage = await recorded(
      [START, START + 700n * MINUTE].flatMap((ts) => cameras.map((id) => frame(id, `f-${ts}`, ts))),
    );
    const requests = await requestsOf(storage, async ({ reader }) => {
      expect((await reader.lastMinutes(DATE, 31, new Set(cameras))).size).toBe(300);
    });
    // The row of the day, the stripe's row; the row of the one hour, and the stripe's row again.
    expect(requests).toEqual(all(4).map(() => 'get'));
  });

  it.each([0, 1])('lose no camera to what is counted between the two readings, in stripe %i', async (stripe) => {
    const storage = await recorded([frame('ridge-0', 'f-0'), frame('ridge-1', 'f-1', START + MINUTE)]);
    const counting = new CountingProcess(storage);
    await counting.record([frame('ridge-0', 'f-0')]);
    // An instance that meets another instance in its stripe moves to a new stripe.
    if (stripe === 1) await new CountingProcess(storage).record([frame('ridge-0', 'other')]);
    const { reader } = new CountingProcess(storage);
    let isBetween = false;
    storage.turn = async ({ kind, rowKeys }) => {
      if (isBetween || kind !== 'get' || rowKeys[0] !== 'hour|00') return;
      isBetween = true;
      // Another order than in the list of the first stripe.
      const later = ['new', 'ridge-1', 'ridge-0'].map((id, at) =>
        frame(id, `n-${at}`, START + BigInt(4 - at) * MINUTE),
      );
      await counting.record(later);
    };
    const minutes = async () =>
      Object.fromEntries(
        Array.from(await reader.lastMinutes(DATE, 1), ([id, at]) => [id, Number((at - START) / MINUTE)]),
      );
    const now = { 'ridge-0': 2, 'ridge-1': 3 };
    expect(await minutes()).toEqual(stripe === 0 ? now : { 'ridge-0': 0, 'ridge-1': 1 });
    expect([isBetween, storage.memory.rows(SHARD).some(({ rowKey }) => rowKey === 'day 01')]).toEqual([
      true,
      stripe === 1,
    ]);
    expect(await minutes()).toEqual({ ...now, new: 4 });
  });
});

/** From 07:00 to the middle of the second 08:01:00. */
const PERIOD = { start: START + 7n * HOUR, end: START + 8n * HOUR + MINUTE + SECOND / 2n };
const LATER_HOUR = { start: START + 8n * HOUR, end: START + 9n * HOUR - 1n };
const LACKING = { day: '{"events":2,"reviewed":0,"annotated":0,"categories":{}}' };

// What damage there can be to each kind of row is tested with the rows; here, that it is met where rows are added up.
it.each<readonly [string, NewProperties, string, Asked | 'cameras' | 'lastMinutes']>([
  ['day', { day: '{"events":1}' }, 'a day', WHOLE_DAY],
  ['camera|ridge-1', { day: 5 }, 'the cameras', 'cameras'],
  ['day', { tally_08: bytes(1) }, 'an hour', LATER_HOUR],
  ['day', LACKING, 'an hour', LATER_HOUR],
  ['minute|0801|00', { second_00: bytes(1) }, 'half a second', PERIOD],
  ['camera|ridge-1', { minutes_08: bytes(0) }, 'a minute of a camera', { ...PERIOD, cameraId: 'ridge-1' }],
  ['day', { cameras: 7 }, 'minutes', { ...WHOLE_DAY, step: 'minute' }],
  ['day', { stripes: 0 }, 'a day', WHOLE_DAY],
  ['day', { mark: -1 }, 'a day of a camera', { ...WHOLE_DAY, cameraId: 'ridge-1' }],
  ['day', { active_08: packBitset(bytes(0b11)) }, 'the last minutes', 'lastMinutes'],
])('with a damaged row %s (%o) %s cannot be answered, and the row is named', async (rowKey, properties, _, asked) => {
  const storage = await recorded([0n, MINUTE].map((into) => frame('ridge-1', `f-${into}`, START + 8n * HOUR + into)));
  const ask = async (): Promise<unknown> => {
    const process = new CountingProcess(storage);
    return typeof asked === 'string' ? process.reader[asked](DATE, 1) : answer(process, asked);
  };
  await ask();
  await storage.memory.transact(SHARD, [{ kind: 'merge', rowKey, etag: '*', properties }]);
  expect(await damagedRowOf(ask())).toEqual([SHARD, rowKey]);
});
