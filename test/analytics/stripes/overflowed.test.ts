import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { minuteRowFrom, overflowedSecondsOf } from '../../../src/analytics/rows/minute-row.ts';
import { inStripe } from '../../../src/analytics/rows/stripes.ts';
import { plainAnswer } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, Oracle, type PlainMessage, type Question } from '../oracle.ts';
import {
  announceOn,
  closeOn,
  day,
  EIGHT,
  partitions,
  processOn,
  SECOND,
  SHARDS,
  START,
  tableOn,
} from '../retention/recorded-day.ts';
import { MemoryStorage } from './memory-storage.ts';

const MINUTE_ROW = 'minute|0815|30';
const CROWDED = EIGHT + 15n * 60n * SECOND + 30n * SECOND;

/** With so many large counts a second overflows at about fifty frames. */
const MANY = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`c${index}`, 9_000 + index]));

const frame = (eventId: string, into: bigint, detections: Readonly<Record<string, number>>): PlainMessage => ({
  cameraId: 'ridge-1',
  eventId,
  ts: CROWDED + into,
  time: START,
  detections,
});

const QUESTIONS: readonly Question[] = [
  { start: START, end: START + DAY - 1n },
  { start: CROWDED, end: CROWDED + SECOND - 1n },
  { start: CROWDED + 1n, end: CROWDED + 600_000n },
  { start: CROWDED - 1n, end: CROWDED + 5n },
].flatMap((period) => [period, { ...period, cameraId: 'ridge-1' }]);

/** The stripes in which the second has overflowed, of those that have samples of it. */
const overflowedStripes = (storage: MemoryStorage): Readonly<Record<string, boolean>> =>
  Object.fromEntries(
    [0, 1].flatMap((stripe) => {
      const row = partitions.map((own) => storage.get(own, inStripe(MINUTE_ROW, stripe))).find((one) => one);
      return row === undefined ? [] : [[stripe, overflowedSecondsOf(minuteRowFrom(row)).length > 0]];
    }),
  );

describe('a second that has overflowed in one of two stripes', () => {
  it.each([0, 1])('in stripe %i is read from its event rows for both, also of a closed day', async (stripe) => {
    const storage = new MemoryStorage();
    // The second one to record takes the first one's stripe over, so the first one moves to another.
    const [inSecond, inFirst] = [processOn(storage), processOn(storage)];
    await inSecond.record([toEventMessage(frame('one', -2n * SECOND, { smoke: 1 }))]);
    await inFirst.record([toEventMessage(frame('other', -3n * SECOND, { smoke: 1 }))]);
    const [crowding, other] = stripe === 0 ? [inFirst, inSecond] : [inSecond, inFirst];
    const crowd = Array.from({ length: 80 }, (_, index) => frame(`f${index}`, BigInt(index) * 12_500n, MANY));
    const few = [1n, 500_001n].map((into) => frame(`few${into}`, into, { smoke: 2, fire: 1 }));
    const edit = { ...frame('f3', 37_500n, {}), time: START + 1n, reviewed: true, annotations: { fire: 3 } };
    await crowding.record(crowd.map(toEventMessage));
    await other.record([...few, edit].map(toEventMessage));
    expect(overflowedStripes(storage)).toEqual({ 0: stripe === 0, 1: stripe === 1 });

    const oracle = new Oracle();
    for (const told of [
      frame('one', -2n * SECOND, { smoke: 1 }),
      frame('other', -3n * SECOND, { smoke: 1 }),
      ...crowd,
      ...few,
      edit,
    ]) {
      oracle.tell(told);
    }
    const expectAnswers = async (): Promise<void> => {
      const table = tableOn(storage);
      const shards = new DayShards(table, SHARDS);
      for (const question of QUESTIONS) {
        const period = { start: instantFrom(question.start), end: instantFrom(question.end) };
        const { tally, activeCameras } = await new Reader(table, shards).activity(period, question.cameraId);
        expect({ question, ...plainAnswer(tally, activeCameras) }).toEqual({ question, ...oracle.answer(question) });
      }
      expect((await auditDay(table, day)).differences).toEqual([]);
    };
    await expectAnswers();
    announceOn(storage);
    await closeOn(tableOn(storage));
    await expectAnswers();
  });
});
