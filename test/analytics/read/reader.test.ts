import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { shardPartition, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { CountingStorage, plainAnswer } from '../counting.ts';
import { DAY, Oracle, type PlainMessage, type Question } from '../oracle.ts';
import { WatchedTable } from '../watched-table.ts';

const START = 20_778n * DAY;
const SECOND = 1_000_000n;
const MINUTE = 60n * SECOND;
const HOUR = 60n * MINUTE;

/** Frames over two days at a fixed interval, of so many cameras in turn. */
const network = (cameras: number, everyMicroseconds: bigint): readonly PlainMessage[] =>
  Array.from({ length: Number((2n * DAY) / everyMicroseconds) }, (_, index): PlainMessage => {
    const ts = START + BigInt(index) * everyMicroseconds;
    return { cameraId: `ridge-${index % cameras}`, eventId: `f-${index}`, ts, time: ts, detections: { smoke: 1 } };
  });

const RAGGED = 20n * MINUTE + 12_345_678n;
const lasting = (length: bigint): Question => ({ start: START + RAGGED, end: START + RAGGED + length });

const QUESTIONS: readonly (readonly [string, Question, number])[] = [
  ['an hour', lasting(HOUR), 8],
  ['24 hours', lasting(DAY), 12],
  ['36 hours', lasting(36n * HOUR), 13],
  ['a camera, for 36 hours', { ...lasting(36n * HOUR), cameraId: 'ridge-7' }, 9],
  ['half a second', lasting(SECOND / 2n), 4],
  ['a whole day', { start: START, end: START + DAY - 1n }, 3],
];

describe('a question', () => {
  it('reads so many rows by their keys, however many events and cameras there are', async () => {
    const networks = [network(10, 30n * MINUTE), network(300, MINUTE)];
    for (const messages of networks) {
      const storage = new CountingStorage();
      const oracle = new Oracle();
      for (const message of messages) oracle.tell(message);
      await storage.process().record(messages);
      for (const [name, question, rows] of QUESTIONS) {
        const table = new WatchedTable(new AzureTable(() => storage.client()), { format: FORMAT });
        const reader = new Reader(table, new DayShards(table, 1));
        const period = { start: instantFrom(question.start), end: instantFrom(question.end) };
        const { tally, activeCameras } = await reader.activity(period, question.cameraId);
        const { total_events, active_camera_ids } = oracle.answer(question);
        expect([name, tally.events, activeCameras]).toEqual([name, total_events, active_camera_ids]);
        expect([name, table.queries, table.rows]).toEqual([name, 0, rows]);
      }
    }
  });
});

/** Answers the first read of the total with an earlier version of it. */
class LaggingTable extends Table {
  #before: StoredRow | undefined;

  lagBehind(before: StoredRow | undefined): void {
    this.#before = before;
  }

  override async get(...args: Parameters<Table['get']>): Promise<StoredRow | undefined> {
    const [, rowKey] = args;
    const before = rowKey === TOTAL_KEY ? this.#before : undefined;
    if (before === undefined) return super.get(...args);
    this.#before = undefined;
    return before;
  }
}

/** A frame so many microseconds after 08:00. */
const told = (cameraId: string, into: bigint, category: string): PlainMessage => {
  const ts = START + 8n * HOUR + into;
  return { cameraId, eventId: `f-${into}`, ts, time: ts, detections: { [category]: 1 } };
};

describe('a total that was read before a camera or a category was added, and other rows after', () => {
  it.each<[string, string, string, Pick<Question, 'cameraId'>]>([
    ['camera', 'all cameras', 'ridge-2', {}],
    ['category', 'all cameras', 'ridge-1', {}],
    ['category', 'one camera', 'ridge-1', { cameraId: 'ridge-1' }],
  ])('is read again where it lacks the %s, for %s', async (what, _, cameraId, whose) => {
    const storage = new CountingStorage();
    const process = storage.process();
    const oracle = new Oracle();
    const table = new LaggingTable(new AzureTable(() => storage.client()), { format: FORMAT });
    const reader = new Reader(table, new DayShards(table, 1));
    const partition = shardPartition(dayOf(instantFrom(START)), 0);
    const first = [told('ridge-1', 0n, 'smoke')];
    const category = what === 'category' ? 'fog' : 'smoke';
    const later = [5n, MINUTE, HOUR].map((into) => told(cameraId, into, category));
    await process.record(first);
    const before = await table.get(partition, TOTAL_KEY);
    await process.record(later);
    for (const message of [...first, ...later]) oracle.tell(message);
    for (const length of [0n, 10n, MINUTE, HOUR, 3n * HOUR]) {
      table.lagBehind(before);
      const start = START + 8n * HOUR + 5n;
      const { tally, activeCameras } = await reader.activity(
        { start: instantFrom(start), end: instantFrom(start + length) },
        whose.cameraId,
      );
      expect(plainAnswer(tally, activeCameras)).toEqual(oracle.answer({ start, end: start + length, ...whose }));
    }
  });
});

describe('a second that has overflowed', () => {
  const overflowed = START + 8n * HOUR + 15n * MINUTE + 30n * SECOND;
  const messages = Array.from({ length: 2_400 }, (_, index): PlainMessage => {
    const ts = overflowed - 100_000n + BigInt(index) * 500n;
    return { cameraId: `ridge-${index % 3}`, eventId: `f-${index}`, ts, time: ts, detections: { smoke: 1 } };
  });
  const questions = [
    { start: overflowed, end: overflowed },
    { start: overflowed + 1n, end: overflowed + 499_999n },
    { start: overflowed - 50_000n, end: overflowed + 250_000n },
    { start: overflowed + 999_999n, end: overflowed + 1_049_999n },
    { start: overflowed + 1_000_000n, end: overflowed + HOUR },
    { start: overflowed - HOUR, end: overflowed - 1n },
    { start: overflowed - HOUR, end: overflowed + 500_000n },
  ].flatMap((period) => [period, { ...period, cameraId: 'ridge-1' }, { ...period, cameraId: 'ridge-9' }]);

  it('is answered exactly to the microsecond, also after edits, by every process', async () => {
    const storage = new CountingStorage();
    const oracle = new Oracle();
    const edits = [0, 201, 1_500, 2_399].flatMap((index): readonly PlainMessage[] => {
      const edited = messages[index];
      return edited === undefined
        ? []
        : [{ ...edited, time: edited.time + 1n, reviewed: true, annotations: { fire: 2 } }];
    });
    for (const batch of [messages, edits]) {
      for (const message of batch) oracle.tell(message);
      await storage.process().record(batch);
      const process = storage.process();
      for (const question of questions) expect(await process.answer(question)).toEqual(oracle.answer(question));
      expect(await process.differences(dayOf(instantFrom(START)))).toEqual([]);
    }
    const table = new WatchedTable(new AzureTable(() => storage.client()), { format: FORMAT });
    const period = { start: instantFrom(overflowed), end: instantFrom(overflowed + 10n) };
    await new Reader(table, new DayShards(table, 1)).activity(period);
    expect(table.queries, 'the second has overflowed').toBe(1);
  });
});
