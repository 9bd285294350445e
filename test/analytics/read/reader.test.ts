import { beforeAll, describe, expect, it, vi } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/steps.ts';
import { DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import { InterposedTable } from '../../storage/interposed-table.ts';
import {
  all,
  CountingProcess,
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

const recorded = async (messages: readonly PlainMessage[], shards = 1): Promise<InterposedTable> => {
  const storage = new InterposedTable();
  await new CountingProcess(storage, shards).record(messages);
  return storage;
};

/** What a reader without memory asks storage for. */
const requestsOf = async (storage: InterposedTable, ask: (process: CountingProcess) => Promise<unknown>) => {
  const requests: string[] = [];
  storage.turn = async ({ kind, select }) => {
    if (kind !== 'create') requests.push(kind === 'page' ? `page of ${select?.join() ?? 'all'}` : kind);
  };
  await ask(new CountingProcess(storage));
  return requests;
};
const gets = (count: number) => all(count).map(() => 'get');

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

  it.each<readonly [string, number, Question & { readonly step?: Step }]>([
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
  ])('about %s makes %i requests, and no query', async (_, count, { start, end, cameraId: id, step }) => {
    const period = { start: instantFrom(start), end: instantFrom(end) };
    for (const storage of networks) {
      const requests = await requestsOf(storage, async ({ reader }) =>
        step === undefined ? reader.activity(period, id) : reader.series(period, step, id),
      );
      expect(requests).toHaveLength(count);
      expect(requests.filter((kind) => kind.startsWith('page'))).toEqual([]);
    }
  });

  it.each([1, 3])('about the cameras of a day makes one query for each of %i shards, without hours', async (shards) => {
    const storage = await recorded(network(7, 72n * MINUTE), shards);
    const requests = await requestsOf(storage, async ({ reader }) => {
      const cameras = await reader.cameras(DATE, 1);
      expect(cameras.map(({ cameraId: id, tally }) => `${id}: ${tally.events}`).toSorted()).toEqual(
        [3, 3, 3, 3, 3, 3, 2].map((events, index) => `ridge-${index}: ${events}`),
      );
    });
    expect(requests).toEqual(['get', ...all(shards).map(() => 'page of day,format'), ...gets(shards)]);
  });
});

it('a counter of several stripes is read in one page; after three pages that storage cuts off, by key until two readings agree', async () => {
  const storage = new InterposedTable();
  const instances = [new CountingProcess(storage), new CountingProcess(storage)];
  for (const index of all(3)) await instances[index % 2]?.record([frame('ridge-0', `f-${index}`)]);
  const kinds = async () => {
    const requests = await requestsOf(storage, async (process) => process.answer(WHOLE_DAY));
    return requests.map((request) => request.slice(0, 4).trim());
  };
  // The row of the day, and the row of the first stripe, which names the second.
  expect(await kinds()).toEqual(['get', 'get', 'page']);
  vi.spyOn(storage.memory, 'page').mockResolvedValue({ rows: [], continuation: 'more' });
  expect(await kinds()).toEqual(['get', 'get', 'page', 'page', 'page', ...gets(3), ...gets(3)]);
});

/** The last minute of each camera, in minutes after the start of the day. */
const lastMinutes = async (storage: InterposedTable, days: number, wanted?: ReadonlySet<string>) => {
  const found = await new CountingProcess(storage).reader.lastMinutes(DATE, days, wanted);
  return Object.fromEntries(Array.from(found, ([id, at]) => [id, Number((at - START) / MINUTE)]));
};

it('the accuracy of the AI leaves out days whose counters do not keep its figures, and names them', async () => {
  const storage = new MemoryStorage();
  await storage.process().record([frame('ridge-1', 'f'), frame('ridge-1', 'g', START - DAY)]);
  const before = dayOf(instantFrom(START - DAY));
  await storage.change(before, { accuracy: 0 }, DAYS_PARTITION);
  const { tally, without } = await storage.process().reader.accuracy(DATE, 2);
  expect([tally.events, without]).toEqual([1, [before]]);
});

describe('the last minutes of cameras', () => {
  it('are those of their events, whatever instance counted them in whichever shard, on however many days', async () => {
    const storage = new InterposedTable();
    const instances = [new CountingProcess(storage, 3), new CountingProcess(storage, 3)];
    const messages = all(60).map((index) =>
      frame(`ridge-${index % 7}`, `f-${index}`, START + BigInt((index * 7_919_333_333) % 259_200_000_000) - 2n * DAY),
    );
    const late = [frame('late', 'l', START + 5n * HOUR)];
    // Both at the same time, so each writes into its own stripe.
    for (const some of [messages, late]) {
      await Promise.all(instances.map(async (one, at) => one.record(some.filter((_, index) => index % 2 === at))));
    }
    for (const days of [1, 2, 3]) {
      const last: Record<string, number> = {};
      for (const { cameraId, ts } of [...messages, ...late].toSorted((one, other) => (one.ts < other.ts ? -1 : 1))) {
        const minute = Math.floor(Number(ts - START) / Number(MINUTE));
        if (minute >= -1_440 * (days - 1)) last[cameraId] = minute;
      }
      expect(await lastMinutes(storage, days)).toEqual(last);
      expect(await lastMinutes(storage, days, new Set(['late']))).toEqual({ late: 300 });
    }
  });

  it('cost four reads by key if they send now, however many there are and however many days are asked about', async () => {
    const cameras = all(300).map((index) => `ridge-${index}`);
    const storage = await recorded(
      [START, START + 700n * MINUTE].flatMap((ts) => cameras.map((id) => frame(id, `f-${ts}`, ts))),
    );
    const ask = async ({ reader }: CountingProcess) => reader.lastMinutes(DATE, 31, new Set(cameras));
    // The row of the day, the stripe's row; the row of the one hour, and the stripe's row again.
    expect(await requestsOf(storage, ask)).toEqual(gets(4));
  });

  it.each([0, 1])('lose no camera to what is counted between the two readings, in stripe %i', async (stripe) => {
    const storage = await recorded([frame('ridge-0', 'f-0'), frame('ridge-1', 'f-1', START + MINUTE)]);
    const counting = new CountingProcess(storage);
    await counting.record([frame('ridge-0', 'f-0')]);
    // An instance that meets another instance in its stripe moves to a new stripe.
    if (stripe === 1) await new CountingProcess(storage).record([frame('ridge-0', 'other')]);
    let isBetween = false;
    storage.turn = async ({ kind, rowKeys }) => {
      if (isBetween || kind !== 'get' || rowKeys[0] !== 'hour|00') return;
      isBetween = true;
      // Another order than in the list of the first stripe.
      await counting.record(
        ['new', 'ridge-1', 'ridge-0'].map((id, at) => frame(id, `n-${at}`, START + BigInt(4 - at) * MINUTE)),
      );
    };
    const now = { 'ridge-0': 2, 'ridge-1': 3 };
    expect(await lastMinutes(storage, 1)).toEqual(stripe === 0 ? now : { 'ridge-0': 0, 'ridge-1': 1 });
    const isStriped = storage.memory.rows(SHARD).some(({ rowKey }) => rowKey === 'day 01');
    expect([isBetween, isStriped]).toEqual([true, stripe === 1]);
    expect(await lastMinutes(storage, 1)).toEqual({ ...now, new: 4 });
  });
});
