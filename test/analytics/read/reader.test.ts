import { beforeAll, describe, expect, it, vi } from 'vitest';

import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/period.ts';
import { DayHeld } from '../../../src/analytics/errors.ts';
import type { CameraActivity } from '../../../src/analytics/read/cameras-of-shard.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import {
  all,
  CountingProcess,
  DATE,
  frame,
  HOUR,
  MemoryStorage,
  MINUTE,
  recorded,
  SECOND,
  START,
  WHOLE_DAY,
} from '../counting.ts';
import { DAY, type PlainMessage, type Question } from '../oracle.ts';

/** The requests of a reader without memory. */
const requestsOf = async (
  { connection }: MemoryStorage,
  ask: (process: CountingProcess) => Promise<unknown>,
  shards = 1,
): Promise<readonly string[]> => {
  const requests: string[] = [];
  connection.turn = async ({ kind, select }) => {
    if (kind !== 'create') requests.push(kind === 'page' ? `page of ${select?.join() ?? 'all'}` : kind);
  };
  await ask(new CountingProcess(connection, shards));
  return requests;
};
const gets = (count: number) => all(count).map(() => 'get');

/** Frames over two days at a fixed interval, of some cameras in turn. */
const network = (cameras: number, everyMicroseconds: bigint): readonly PlainMessage[] =>
  all(Number((2n * DAY) / everyMicroseconds)).map((index) =>
    frame(`ridge-${index % cameras}`, `f-${index}`, START + BigInt(index) * everyMicroseconds),
  );

const eventsOf = (cameras: readonly CameraActivity[]): readonly string[] =>
  cameras.map(({ cameraId, tally }) => `${cameraId}: ${tally.events}`).sort();

const RAGGED = 20n * MINUTE + 12_345_678n;
const RAGGED_DAY = { start: START + RAGGED, end: START + DAY - RAGGED };
const lasting = (length: bigint): Question => ({ start: START + RAGGED, end: START + RAGGED + length });

// That every answer is right is played in the world of counting.
describe('however many cameras there are, a question', () => {
  let networks: readonly MemoryStorage[] = [];
  beforeAll(async () => {
    networks = [await recorded(network(10, 30n * MINUTE)), await recorded(network(300, 2n * MINUTE))];
  });
  const cameraId = 'ridge-7';

  it.each<readonly [string, gets: number, pages: number, Question & { readonly step?: Step }]>([
    ['an hour', 3, 2, lasting(HOUR)],
    ['36 hours', 4, 2, lasting(36n * HOUR)],
    ['36 hours of a camera', 4, 2, { ...lasting(36n * HOUR), cameraId }],
    ['half a second', 1, 1, lasting(SECOND / 2n)],
    ['a whole day', 1, 0, WHOLE_DAY],
    ['a whole day of a camera', 2, 0, { ...WHOLE_DAY, cameraId }],
    ['a day as a step', 1, 0, { ...WHOLE_DAY, step: 'day' }],
    ['the hours of a ragged day', 3, 2, { ...RAGGED_DAY, step: 'hour' }],
    ['the minutes of a ragged day', 25, 2, { ...RAGGED_DAY, step: 'minute' }],
    ['the minutes of a day of a camera', 2, 0, { ...WHOLE_DAY, cameraId, step: 'minute' }],
    ['the hours of a ragged day of a camera', 2, 2, { ...RAGGED_DAY, cameraId, step: 'hour' }],
  ])('about %s reads %i rows by key, and the events of %i partial minutes', async (_, rows, pages, question) => {
    const { start, end, cameraId: id, step } = question;
    const period = { start: instantFrom(start), end: instantFrom(end) };
    for (const storage of networks) {
      const requests = await requestsOf(storage, async ({ reader }) =>
        step === undefined ? reader.activity(period, id) : reader.series(period, step, id),
      );
      expect(requests.toSorted()).toEqual([...gets(rows), ...all(pages).map(() => 'page of all')]);
    }
  });

  it('about an empty day reads one row by key, and asks once a minute whether the day has lost it', async () => {
    const empty = { start: START + 5n * DAY, end: START + 6n * DAY - 1n };
    const [storage] = networks;
    const ask = async (process: CountingProcess) => [await process.answer(empty), await process.answer(empty)];
    expect(storage && (await requestsOf(storage, ask))).toEqual(['get', 'firstPartition', 'get']);
  });

  it.each([1, 3])('about the cameras of a day makes one query for each of %i shards, without hours', async (shards) => {
    const storage = await recorded(network(7, 72n * MINUTE), shards);
    const requests = await requestsOf(
      storage,
      async ({ reader }) => {
        const events = all(7).map((index) => `ridge-${index}: ${index === 6 ? 2 : 3}`);
        expect(eventsOf(await reader.cameras(DATE, 1))).toEqual(events);
      },
      shards,
    );
    expect(requests.toSorted()).toEqual([
      ...gets(shards),
      ...all(shards).map(() => 'page of tally,categories,categories_1,categories_2,format'),
    ]);
  });
});

/** Frames of two instances in turn, which then use several stripes. */
const striped = async (): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  const instances = [2 / 8, 3 / 8].map((random) => storage.process(1, { random: () => random }));
  for (const index of all(3)) await instances[index % 2]?.record([frame('ridge-0', `f-${index}`)]);
  return storage;
};

it('a counter of several stripes is read in one page; after three pages that storage cuts off, by key until two readings agree', async () => {
  const storage = await striped();
  const kinds = async () => {
    const requests = await requestsOf(storage, async (process) => process.answer(WHOLE_DAY));
    return requests.map((request) => request.slice(0, 4).trim());
  };
  // The row of stripe 0 tells that there are others.
  expect(await kinds()).toEqual(['get', 'page']);
  vi.spyOn(storage.memory, 'page').mockResolvedValue({ rows: [], continuation: 'more' });
  expect(await kinds()).toEqual(['get', 'page', 'page', 'page', ...gets(64), ...gets(64)]);
});

it.each<readonly [string, (process: CountingProcess) => Promise<unknown>]>([
  ['a range', async (process) => process.answer(lasting(HOUR))],
  ['a camera', async (process) => process.answer({ ...WHOLE_DAY, cameraId: 'ridge-0' })],
  [
    'a series',
    async ({ reader }) => reader.series({ start: instantFrom(START), end: instantFrom(START + 5n) }, 'hour'),
  ],
  ['the cameras', async ({ reader }) => reader.cameras(DATE, 1)],
  ['the accuracy', async ({ reader }) => reader.accuracy(DATE, 1)],
  ['the last minutes', async ({ reader }) => reader.lastMinutes(DATE, 1)],
])('a day whose counters are being rebuilt has no answer about %s', async (_, ask) => {
  const storage = new MemoryStorage();
  await storage.process().record([frame('ridge-0', 'f')]);
  await storage.change('day|00', { sealed: 'rebuilding' });
  await expect(ask(storage.process())).rejects.toThrow(DayHeld);
});

/** The last minute of each camera, in minutes after the start of the day. */
const lastMinutes = async (storage: MemoryStorage) => {
  const found = await storage.process().reader.lastMinutes(DATE, 1);
  return Object.fromEntries(Array.from(found, ([id, at]) => [id, Number((at - START) / MINUTE)]));
};

describe('the last minutes of cameras', () => {
  it('cost two reads by key if they send now, however many there are and however many days are asked about', async () => {
    const cameras = all(300).map((index) => `ridge-${index}`);
    const storage = await recorded(
      [START, START + 700n * MINUTE].flatMap((ts) => cameras.map((id) => frame(id, `f-${ts}`, ts))),
    );
    const wanted = new Set(cameras.slice(7));
    const ask = async ({ reader }: CountingProcess) => {
      expect(new Set((await reader.lastMinutes(DATE, 31, wanted)).keys())).toEqual(wanted);
    };
    // The row of the day, and the row of one hour.
    expect(await requestsOf(storage, ask)).toEqual(gets(2));
  });

  it.each([0, 3])('lose no camera to what is counted between the two readings, in stripe %i', async (stripe) => {
    const storage = await recorded([frame('ridge-0', 'f-0'), frame('ridge-1', 'f-1', START + MINUTE)]);
    const counting = storage.process(1, { random: () => stripe / 8 });
    await counting.record([frame('ridge-0', 'f-2')]);
    // An instance that meets another instance in its stripe moves.
    await storage.process().record([frame('ridge-0', 'other')]);
    let isBetween = false;
    storage.connection.turn = async ({ kind, rowKeys }) => {
      if (isBetween || kind !== 'get' || rowKeys[0] !== 'hour|00|00') return;
      isBetween = true;
      // Another order than in the list of the first stripe.
      await counting.record(
        ['new', 'ridge-1', 'ridge-0'].map((id, at) => frame(id, `n-${at}`, START + BigInt(4 - at) * MINUTE)),
      );
    };
    const now = { 'ridge-0': 2, 'ridge-1': 3 };
    expect(await lastMinutes(storage)).toEqual(stripe === 0 ? now : { 'ridge-0': 0, 'ridge-1': 1 });
    expect([isBetween, storage.keys().includes('day|03')]).toEqual([true, stripe === 3]);
    expect(await lastMinutes(storage)).toEqual({ ...now, new: 4 });
  });

  it('are read again if the row of the hour lacks a camera, and at last it is damaged', async () => {
    const storage = await recorded([frame('ridge-0', 'f-0'), frame('ridge-1', 'f-1', START + MINUTE)]);
    const get = storage.memory.get.bind(storage.memory);
    let missed = 0;
    vi.spyOn(storage.memory, 'get').mockImplementation(async (partition, rowKey, selection) => {
      if (rowKey !== 'hour|00|00' || missed === 4) return get(partition, rowKey, selection);
      missed += 1;
      return undefined;
    });
    await expect(lastMinutes(storage)).rejects.toThrow(DamagedRow);
    expect(missed).toBe(3);
    expect(await lastMinutes(storage)).toEqual({ 'ridge-0': 0, 'ridge-1': 1 });
  });
});
