import * as fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/steps.ts';
import { DayHeld } from '../../../src/analytics/errors.ts';
import type { CameraActivity } from '../../../src/analytics/read/reader.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
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
import { DAY, Oracle, type PlainMessage, type Question } from '../oracle.ts';

const recorded = async (messages: readonly PlainMessage[], shards = 1): Promise<InterposedTable> => {
  const storage = new InterposedTable();
  await new CountingProcess(storage, shards).record(messages);
  return storage;
};

/** The requests of a reader without memory. */
const requestsOf = async (
  storage: InterposedTable,
  ask: (process: CountingProcess) => Promise<unknown>,
  shards = 1,
): Promise<readonly string[]> => {
  const requests: string[] = [];
  storage.turn = async ({ kind, select }) => {
    if (kind !== 'create') requests.push(kind === 'page' ? `page of ${select?.join() ?? 'all'}` : kind);
  };
  await ask(new CountingProcess(storage, shards));
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
  let networks: readonly InterposedTable[] = [];
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
const striped = async (cameras: number): Promise<InterposedTable> => {
  const storage = new InterposedTable();
  const instances = [2 / 8, 3 / 8].map((random) => new CountingProcess(storage, 1, { random: () => random }));
  for (const index of all(3 * cameras)) {
    await instances[index % 2]?.record([frame(`ridge-${index % cameras}`, `f-${index}`)]);
  }
  return storage;
};

it('a counter of several stripes is read in one page; after three pages that storage cuts off, by key until two readings agree', async () => {
  const storage = await striped(1);
  const kinds = async () => {
    const requests = await requestsOf(storage, async (process) => process.answer(WHOLE_DAY));
    return requests.map((request) => request.slice(0, 4).trim());
  };
  // The row of stripe 0 tells that there are others.
  expect(await kinds()).toEqual(['get', 'page']);
  vi.spyOn(storage.memory, 'page').mockResolvedValue({ rows: [], continuation: 'more' });
  expect(await kinds()).toEqual(['get', 'page', 'page', 'page', ...gets(64), ...gets(64)]);
});

describe('the cameras of a day', () => {
  it('are those that sent an event, also if it was removed, in every answer', async () => {
    const storage = new MemoryStorage();
    const process = storage.process();
    const removed = { removed: true, annotations: { fire: 1 } };
    await process.record([frame('gone', 'f', START + 61n * MINUTE, removed), frame('there', 'f', START + HOUR)]);
    const { reader } = storage.process();
    const period = { start: instantFrom(START + 61n * MINUTE), end: instantFrom(START + 61n * MINUTE + 1n) };
    expect(await reader.activity(period)).toMatchObject({ activeCameras: ['gone'], tally: { events: 0 } });
    for (const length of [DAY, 2n * HOUR, 62n * MINUTE]) {
      for (const cameraId of ['gone', undefined]) {
        const asked = { start: period.start - (length === DAY ? 61n * MINUTE : MINUTE), end: START + length - 1n };
        const { activeCameras, tally } = await reader.activity(
          { start: instantFrom(asked.start), end: instantFrom(asked.end) },
          cameraId,
        );
        expect([activeCameras, tally.events]).toEqual(cameraId === undefined ? [['gone', 'there'], 1] : [['gone'], 0]);
      }
    }
    expect((await reader.cameras(DATE, 1)).map(({ cameraId }) => cameraId).toSorted()).toEqual(['gone', 'there']);
    expect((await reader.lastMinutes(DATE, 1)).get('gone')).toBe(START + 61n * MINUTE);
  });
});

describe('a range that begins and ends within minutes', () => {
  const minute = fc.bigInt({ min: 0n, max: 3n * MINUTE - 1n });
  it('is exact in an open day; in a closed day it is widened to whole minutes, and the answer says so', async () => {
    const messages = all(200).map((index) =>
      frame(`ridge-${index % 3}`, `f-${index}`, START + BigInt(index) * 900_001n, { removed: index % 5 === 0 }),
    );
    const [open, closed] = [new MemoryStorage(), new MemoryStorage()];
    for (const storage of [open, closed]) await storage.process().record(messages);
    await closed.change('day|00', { sealed: 'closed' });
    for (const key of closed.keys().filter((one) => one.startsWith('event|'))) await closed.change(key, 'deleted');
    const oracle = new Oracle(messages);
    await fc.assert(
      fc.asyncProperty(minute, minute, fc.constantFrom(undefined, 'ridge-1'), async (one, other, cameraId) => {
        const [from, to] = one < other ? [one, other] : [other, one];
        const question = { start: START + from, end: START + to, cameraId };
        expect(await open.process().answer(question)).toEqual(oracle.answer(question));
        const whole = {
          start: START + from - (from % MINUTE),
          end: START + to - (to % MINUTE) + MINUTE - 1n,
          cameraId,
        };
        const { reader } = closed.process();
        const period = { start: instantFrom(question.start), end: instantFrom(question.end) };
        expect(await closed.process().answer(question)).toEqual(oracle.answer(whole));
        const { start, end } = whole;
        expect((await reader.activity(period, cameraId)).period).toEqual({ start, end });
        const steps = await reader.series(period, 'minute', cameraId);
        expect([steps[0]?.period.start, steps.at(-1)?.period.end]).toEqual([start, end]);
        const events = steps.reduce((sum, { tally }) => sum + tally.events, 0);
        expect(events).toBe(oracle.answer(whole).total_events);
      }),
      { numRuns: 40 },
    );
  });

  it('is widened in closed days only', async () => {
    const storage = new MemoryStorage();
    await storage.process().record([frame('a', 'f', START - 1n), frame('a', 'g', START)]);
    await storage.change('day|00', { sealed: 'closed' }, '2026-11-20.00');
    const period = { start: instantFrom(START - 30n * SECOND), end: instantFrom(START + 30n * SECOND) };
    const { period: covered, tally } = await storage.process().reader.activity(period);
    expect([covered, tally.events]).toEqual([{ start: START - MINUTE, end: START + 30n * SECOND }, 2]);
  });
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
const lastMinutes = async (storage: InterposedTable, days: number, wanted?: ReadonlySet<string>, shards = 1) => {
  const found = await new CountingProcess(storage, shards).reader.lastMinutes(DATE, days, wanted);
  return Object.fromEntries(Array.from(found, ([id, at]) => [id, Number((at - START) / MINUTE)]));
};

describe('the last minutes of cameras', () => {
  it('are those of their events, whatever instance counted them in whichever shard, on however many days', async () => {
    const storage = new InterposedTable();
    const instances = [0, 3 / 8].map((random) => new CountingProcess(storage, 3, { random: () => random }));
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
      expect(await lastMinutes(storage, days, undefined, 3)).toEqual(last);
      expect(await lastMinutes(storage, days, new Set(['late']), 3)).toEqual({ late: 300 });
    }
  });

  it('cost two reads by key if they send now, however many there are and however many days are asked about', async () => {
    const cameras = all(300).map((index) => `ridge-${index}`);
    const storage = await recorded(
      [START, START + 700n * MINUTE].flatMap((ts) => cameras.map((id) => frame(id, `f-${ts}`, ts))),
    );
    const ask = async ({ reader }: CountingProcess) => reader.lastMinutes(DATE, 31, new Set(cameras));
    // The row of the day, and the row of one hour.
    expect(await requestsOf(storage, ask)).toEqual(gets(2));
  });

  it.each([0, 3])('lose no camera to what is counted between the two readings, in stripe %i', async (stripe) => {
    const storage = await recorded([frame('ridge-0', 'f-0'), frame('ridge-1', 'f-1', START + MINUTE)]);
    const counting = new CountingProcess(storage, 1, { random: () => stripe / 8 });
    await counting.record([frame('ridge-0', 'f-2')]);
    // An instance that meets another instance in its stripe moves.
    await new CountingProcess(storage).record([frame('ridge-0', 'other')]);
    let isBetween = false;
    storage.turn = async ({ kind, rowKeys }) => {
      if (isBetween || kind !== 'get' || rowKeys[0] !== 'hour|00|00') return;
      isBetween = true;
      // Another order than in the list of the first stripe.
      await counting.record(
        ['new', 'ridge-1', 'ridge-0'].map((id, at) => frame(id, `n-${at}`, START + BigInt(4 - at) * MINUTE)),
      );
    };
    const now = { 'ridge-0': 2, 'ridge-1': 3 };
    expect(await lastMinutes(storage, 1)).toEqual(stripe === 0 ? now : { 'ridge-0': 0, 'ridge-1': 1 });
    const isStriped = storage.memory.rows(SHARD).some(({ rowKey }) => rowKey === 'day|03');
    expect([isBetween, isStriped]).toEqual([true, stripe === 3]);
    expect(await lastMinutes(storage, 1)).toEqual({ ...now, new: 4 });
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
    await expect(lastMinutes(storage, 1)).rejects.toThrow(DamagedRow);
    expect(missed).toBe(3);
    expect(await lastMinutes(storage, 1)).toEqual({ 'ridge-0': 0, 'ridge-1': 1 });
  });
});
