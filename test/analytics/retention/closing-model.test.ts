import { isDeepStrictEqual } from 'node:util';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import { Recorder, RecorderUnavailable } from '../../../src/analytics/record/recorder.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { OPEN_DAYS_PARTITION, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { plainAnswer, toEventMessage } from '../counting.ts';
import { DAY, Oracle, type PlainMessage, type Question } from '../oracle.ts';
import { FAIR, MemoryStorage, MemoryTable, type Weather } from '../stripes/memory-storage.ts';
import { oneAtATime } from '../stripes/one-at-a-time.ts';

const START = 20_778n * DAY;
const SECOND = 1_000_000n;
const EIGHT = START + 8n * 3_600n * SECOND;
const day = dayOf(instantFrom(START));
const LATER = instantFrom(START + 10n * DAY);
const SHARDS = 2;
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const CLOSED = 'the day of data.ts_utc is closed: its counts are final';

const PERIODS = [
  { start: START, end: START + DAY - 1n },
  { start: EIGHT + 10n * SECOND, end: EIGHT + 61n * SECOND },
  { start: EIGHT + 10n * SECOND + 1n, end: EIGHT + 7_200n * SECOND },
];
const QUESTIONS: readonly Question[] = PERIODS.flatMap(({ start, end }) => [
  { start, end },
  { start, end, cameraId: 'a' },
  { start, end, cameraId: 'c' },
]);

const message: fc.Arbitrary<PlainMessage> = fc
  .record({
    cameraId: fc.constantFrom('a', 'b', 'c'),
    after: fc.constantFrom(10n, 45n, 61n, 7_200n),
    time: fc.integer({ min: 1, max: 9 }),
    fire: fc.boolean(),
  })
  // Messages with the same time say the same: of two different ones neither would be newer.
  .map(({ cameraId, after, time, fire }): PlainMessage => {
    const [eventId, ts] = [`f${after}`, EIGHT + after * SECOND];
    if (!fire) return { cameraId, eventId, ts, time: START + BigInt(2 * time), detections: { smoke: time } };
    return { cameraId, eventId, ts, time: START + BigInt(2 * time + 1), reviewed: true, annotations: { fire: 1 } };
  });

interface Story {
  /** Recorded before anything else happens, by the first instance. */
  readonly first: PlainMessage;
  /** By instance: requests that it gets one after another. */
  readonly writers: readonly (readonly (readonly PlainMessage[])[])[];
  /** How many instances close days. */
  readonly closers: number;
  /** How many requests pass before they do. */
  readonly closedAfter: number;
  readonly luck: readonly number[];
}

const stories: fc.Arbitrary<Story> = fc.record({
  first: message,
  writers: fc.array(fc.array(fc.array(message, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 5 }), {
    minLength: 1,
    maxLength: 4,
  }),
  closers: fc.integer({ min: 1, max: 2 }),
  closedAfter: fc.nat(30),
  luck: fc.array(fc.nat(99), { minLength: 200, maxLength: 200 }),
});

/** Answers of writes are lost now and then. */
const weatherOf = (luck: readonly number[]): Weather => {
  let at = 0;
  const next = (): number => luck[(at += 1) % luck.length] ?? 0;
  return {
    ...FAIR,
    losesAnswer: () => {
      const drawn = next();
      if (drawn < 15) return 'applied';
      return drawn < 20 ? 'not applied' : undefined;
    },
    endsEarly: () => next() < 10,
    passes: () => (next() < 20 ? 20_000 : 1),
  };
};

/** What became of the messages. */
class Told {
  readonly counted: PlainMessage[] = [];
  /** Refused after a request with them had failed: they may be counted or not. */
  readonly unknown: PlainMessage[] = [];
  refused = 0;

  /** Whether an answer may follow: it counts all that were counted, and none of the refused ones. */
  allows(question: Question, answer: unknown): boolean {
    for (let choice = 0; choice < 2 ** this.unknown.length; choice += 1) {
      const oracle = new Oracle();
      for (const told of this.counted) oracle.tell(told);
      for (const [index, told] of this.unknown.entries()) if ((choice >> index) % 2 === 1) oracle.tell(told);
      if (isDeepStrictEqual(answer, oracle.answer(question))) return true;
    }
    return false;
  }
}

const play = async (story: Story, scheduler: fc.Scheduler, weather: Weather) => {
  const storage = new MemoryStorage();
  const told = new Told();
  let running = false;
  const turn = async (request: string): Promise<void> => {
    if (running) await scheduler.schedule(Promise.resolve(), request);
  };
  const tableOf = (own: Weather = weather): MemoryTable => new MemoryTable(storage, turn, own);
  const pause = async (): Promise<void> => turn('pause');
  const recorders = story.writers.map(() => {
    const table = tableOf();
    return new Recorder(table, new DayShards(table, SHARDS), SILENT, { pause });
  });
  const send = async (recorder: Recorder | undefined, messages: readonly PlainMessage[]): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const outcomes = (await recorder?.record(messages.map(toEventMessage))) ?? [];
        for (const [index, outcome] of outcomes.entries()) {
          const one = messages[index];
          if (one === undefined) throw new Error('more outcomes than messages');
          if (typeof outcome === 'string') told.counted.push(one);
          else {
            if (outcome.refused !== CLOSED) throw new Error(`refused for another reason: ${outcome.refused}`);
            told.refused += 1;
            if (tries > 1) told.unknown.push(one);
          }
        }
        return;
      } catch (error) {
        if (!(error instanceof RecorderUnavailable)) throw error;
      }
    }
  };
  await send(recorders[0], [story.first]);
  running = true;
  const writing = story.writers.map(async (requests, index) => {
    for (const messages of requests) await send(recorders[index], messages);
  });
  const closing = Array.from({ length: story.closers }, async () => {
    for (let turns = 0; turns < story.closedAfter; turns += 1) await turn('not yet');
    const table = tableOf();
    const shards = new DayShards(table, SHARDS);
    while (storage.rows(OPEN_DAYS_PARTITION).length > 0) {
      await closeDays({ table, shards, retentionDays: 9, now: () => LATER, pause }, SILENT);
    }
  });
  await scheduler.waitFor(Promise.all([...writing, ...closing]), oneAtATime);
  running = false;
  return { storage, told, tableOf };
};

const expectRight = async ({ storage, told, tableOf }: Awaited<ReturnType<typeof play>>): Promise<void> => {
  const partitions = Array.from({ length: SHARDS }, (_, shard) => shardPartition(day, shard));
  const events = partitions.flatMap((own) => storage.rows(own)).filter(({ rowKey }) => rowKey.startsWith('event|'));
  expect(events).toEqual([]);
  const table = tableOf(FAIR);
  const shards = new DayShards(table, SHARDS);
  for (const question of QUESTIONS) {
    const period = { start: instantFrom(question.start), end: instantFrom(question.end) };
    const { tally, activeCameras } = await new Reader(table, shards).activity(period, question.cameraId);
    expect(told.allows(question, plainAnswer(tally, activeCameras)), 'counted: all recorded, none refused').toBe(true);
  }
  const { differences } = await auditDay(table, shards, day);
  expect(differences).toEqual([]);
};

describe('a day that is closed while instances record, interleaved at every storage request', () => {
  it('counts every recorded event, and none that it refuses', async () => {
    let [refused, counted] = [0, 0];
    await fc.assert(
      fc.asyncProperty(stories, fc.scheduler(), async (story, scheduler) => {
        const played = await play(story, scheduler, FAIR);
        expect(played.told.unknown).toEqual([]);
        await expectRight(played);
        if (played.told.refused > 0) refused += 1;
        if (played.told.counted.length > 1) counted += 1;
      }),
      { numRuns: 500, interruptAfterTimeLimit: 15_000 },
    );
    expect(refused, 'events come too late').toBeGreaterThan(5);
    expect(counted, 'events come in time').toBeGreaterThan(5);
  }, 60_000);

  it('also where answers are lost and pages end early', async () => {
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(stories, fc.scheduler(), async (story, scheduler) => {
        const played = await play(story, scheduler, weatherOf(story.luck));
        fc.pre(played.told.unknown.length < 8);
        await expectRight(played);
        if (played.told.refused > 0) refused += 1;
      }),
      { numRuns: 500, interruptAfterTimeLimit: 15_000 },
    );
    expect(refused, 'events come too late').toBeGreaterThan(5);
  }, 60_000);
});
