import { describe, expect, it, vi } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { formatInstant, instantFrom } from '../../../src/analytics/model/instant.ts';
import { closeDays, type ClosingDependencies } from '../../../src/analytics/retention/close-days.ts';
import { openDays as readOpenDays } from '../../../src/analytics/rows/day-row.ts';
import { DAYS_PARTITION, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { ANY_VERSION, type NewProperties, type StoredRow } from '../../../src/storage/row.ts';
import { all, DATE, frame, MemoryStorage, SHARD, START, WHOLE_DAY } from '../counting.ts';
import { DAY, Oracle, type PlainAnswer, type PlainMessage } from '../oracle.ts';

const SECOND = 1_000_000n;
const HOUR = 3_600n * SECOND;
const EIGHT = START + 8n * HOUR;
const CROWDED = EIGHT + 15n * 60n * SECOND + 30n * SECOND;
const SHARDS = 3;
const PARTITIONS = all(SHARDS).map((shard) => shardPartition(DATE, shard));
const CLOSED = { code: 'day_closed', refused: 'the day of data.ts_utc is closed: its counts are final' };

/** With so many large counts a second overflows at about fifty frames. */
const MANY = Object.fromEntries(all(60).map((index) => [`c${index}`, 9_000 + index]));
const crowd = (from: bigint, frames: number): readonly PlainMessage[] =>
  all(frames).map((index) => frame('crowded', `f${index}`, from + BigInt(index) * 12_500n, { detections: MANY }));

/** 80 frames of a camera in the second from 08:15:30, and some before and after it in the same minute; 130 in other minutes. */
const MESSAGES: readonly PlainMessage[] = [
  ...crowd(CROWDED - 125_000n, 100),
  ...all(130).map((index) => frame(`ridge-${index % 2}`, `g${index}`, EIGHT + BigInt(index) * 25n * SECOND)),
];
const EDITS = MESSAGES.filter((_, index) => index % 7 === 0).map((message) =>
  Object.assign({}, message, { time: START + DAY, reviewed: true, annotations: { smoke: 2 } }),
);

const QUESTIONS = [
  WHOLE_DAY,
  { start: CROWDED - 1n, end: CROWDED + SECOND },
  { start: CROWDED + 12_500n, end: CROWDED + 25_000n },
  { start: CROWDED - 62_500n, end: CROWDED + 1_062_500n },
  { start: EIGHT + 1n, end: CROWDED - 62_500n },
].flatMap((period) => [period, { ...period, cameraId: 'crowded' }, { ...period, cameraId: 'ridge-1' }]);

/** Changes a row, whatever its version. */
const change = async (
  { connection }: MemoryStorage,
  partition: string,
  rowKey: string,
  properties: NewProperties,
): Promise<void> =>
  void (await connection.transact(partition, [{ kind: 'merge', rowKey, etag: ANY_VERSION, properties }]));

/** A run of the timer long after the day, or so many microseconds after its start; more options as given. @returns the lines that it logs */
const run = async (storage: MemoryStorage, options: Partial<ClosingDependencies> = {}, after = 30_000n * DAY) => {
  vi.spyOn(Date, 'now').mockReturnValue(Number((START + after) / 1_000n));
  const lines: (readonly [event: string, fields: object | undefined])[] = [];
  const log = (event: string, fields?: object): void => void lines.push([event, fields]);
  const { table, days } = storage.process(SHARDS);
  await closeDays({ table, days, retentionDays: 1, ...options }, { info: log, warn: log, error: log });
  return lines;
};

/** The day is announced to close long ago. */
const announce = async (storage: MemoryStorage): Promise<void> =>
  change(storage, DAYS_PARTITION, DATE, { closes: '2001-01-01T00:00:00.000000Z' });

const eventRows = ({ connection }: MemoryStorage): readonly StoredRow[] =>
  PARTITIONS.flatMap((own) => connection.rows(own)).filter(({ rowKey }) => rowKey.startsWith('event|'));

const openDays = async (storage: MemoryStorage): Promise<readonly string[]> => readOpenDays(storage.process().table);

const answersOf = async (storage: MemoryStorage): Promise<readonly PlainAnswer[]> =>
  Promise.all(QUESTIONS.map(async (question) => storage.process(SHARDS).answer(question)));

const expectedAnswers = (messages: readonly PlainMessage[]): readonly PlainAnswer[] => {
  const oracle = new Oracle(messages);
  return QUESTIONS.map((question) => oracle.answer(question));
};

/** A day of two instances in turn, and so of two stripes. */
const recordedDay = async (): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  const processes = [storage.process(SHARDS), storage.process(SHARDS)];
  for (const messages of [MESSAGES.slice(0, 60), MESSAGES.slice(60), EDITS]) {
    for (const [index, process] of processes.entries())
      await process.record(messages.filter((_, at) => at % 2 === index));
  }
  const keys = PARTITIONS.flatMap((own) => storage.connection.rows(own).map(({ rowKey }) => rowKey));
  expect(keys, 'there are stripes').toContain('day 01');
  return storage;
};

// What happens when days close while others record, and at every accident, is played in the world of counting.
describe('a closed day', () => {
  it('answers as before to the microsecond, keeps only event rows of overflowed seconds, and refuses changes', async () => {
    const storage = await recordedDay();
    const expected = expectedAnswers([...MESSAGES, ...EDITS]);
    expect(await answersOf(storage)).toEqual(expected);

    await announce(storage);
    await run(storage);

    expect(await openDays(storage)).toEqual([]);
    const seconds = eventRows(storage).map(({ properties }) => String(properties['ts_utc']).slice(11, 19));
    expect(seconds).toEqual(all(80).map(() => '08:15:30'));
    const late = [...MESSAGES.slice(0, 1), frame('new', 'new', EIGHT)].map((one) =>
      Object.assign({}, one, { time: START + 2n * DAY, reviewed: true }),
    );
    expect(await storage.process(SHARDS).record(late)).toEqual([CLOSED, CLOSED]);
    expect(await answersOf(storage)).toEqual(expected);
    expect(await run(storage), 'it costs the timer nothing more').toEqual([]);
  });

  it('keeps an event of which it cannot be told whether its second has overflowed', async () => {
    const storage = new MemoryStorage();
    await storage
      .process()
      .record([0n, 1n, 2n].map((index) => frame(`ridge-${index}`, 'f', EIGHT + index * 60n * SECOND)));
    await change(storage, SHARD, 'minute|0800|00', { second_00: 'text' });
    await change(storage, SHARD, 'event|0801|ridge-1|f', { ts_utc: 'text' });
    await announce(storage);
    await run(storage);
    expect(eventRows(storage).map(({ rowKey }) => rowKey)).toEqual(['event|0800|ridge-0|f', 'event|0801|ridge-1|f']);
  });

  it.each([0, 1])(
    'answers, as before, from event rows about a second that has overflowed in stripe %i of two alone',
    async (stripe) => {
      const storage = new MemoryStorage();
      const [inSecond, inFirst] = [storage.process(), storage.process()];
      // The second one to record takes the first one's stripe over, so the first one moves to another.
      const early = [2n, 3n].map((before) => frame('crowded', `early${before}`, CROWDED - before * SECOND));
      const [crowding, other] = stripe === 0 ? [inFirst, inSecond] : [inSecond, inFirst];
      const few = [1n, 500_001n].map((into) => frame('crowded', `few${into}`, CROWDED + into));
      const frames = crowd(CROWDED, 80);
      const edits = frames.slice(3, 4).map((one) => Object.assign({}, one, { time: START + DAY, reviewed: true }));
      await inSecond.record(early.slice(0, 1));
      await inFirst.record(early.slice(1));
      await crowding.record(frames);
      await other.record([...few, ...edits]);
      const ofSecond = ['minute|0815|30', 'minute|0815|30 01'].map(async (key) => inFirst.table.get(SHARD, key));
      const bytes = (await Promise.all(ofSecond)).map((row) => row?.properties['second_30']);
      expect(bytes.map((own) => own instanceof Uint8Array && own.length > 1)).toEqual([stripe === 1, stripe === 0]);

      const expected = expectedAnswers([...early, ...frames, ...few, ...edits]);
      expect(await answersOf(storage)).toEqual(expected);
      await announce(storage);
      await run(storage);
      expect(await answersOf(storage)).toEqual(expected);
    },
  );
});

describe('closing a day', () => {
  it('is left for the next run if the time is over', async () => {
    const storage = new MemoryStorage();
    await storage.process().record([frame('a', 'f')]);
    await announce(storage);
    expect(await run(storage, { runMs: 0 })).toEqual([]);
    expect([eventRows(storage).length, await openDays(storage)]).toEqual([1, [DATE]]);
    const lines = [...(await run(storage)), ...(await run(storage))];
    expect(lines.map(([event]) => event)).toEqual(['day closed']);
  });

  it('deletes event rows an hour after the day closed, and no earlier: the clocks of two instances may differ by half an hour', async () => {
    const storage = new MemoryStorage();
    await storage.process().record([frame('a', 'f')]);
    for (const [after, event, rows] of [
      [0n, 'day closes', 1],
      [2n * HOUR - 1_000n, 'day closes', 1],
      [2n * HOUR, 'day closed', 0],
    ] as const) {
      const lines = await run(storage, {}, 2n * DAY + after);
      expect([lines.map(([line]) => line), eventRows(storage).length]).toEqual([[event], rows]);
    }
  });

  it.each([-301_000, 301_000])('is refused by an instance whose clock is %i ms off', async (offMs) => {
    const storage = new MemoryStorage();
    await storage.process().record([frame('a', 'f')]);
    storage.now = () => Number((START + 30_000n * DAY) / 1_000n) - offMs;
    expect(await run(storage)).toEqual([['days not closed', { reason: 'clock is off' }]]);
    expect((await storage.process().days.stored(DATE))?.closes).toBeUndefined();
  });

  it('leaves a day that is not old enough, and a day that cannot be closed holds up no other one', async () => {
    const storage = new MemoryStorage();
    const starts = [0n, 1n, 2n].map((after) => START + after * DAY);
    await storage.process(SHARDS).record(starts.map((start) => frame('a', 'f', start)));
    await change(storage, DAYS_PARTITION, DATE, { shards: 'three' });
    const now = 4n * DAY - 1_000n;
    const lines = await run(storage, {}, now);
    const days = starts.map((start) => dayOf(instantFrom(start)));
    expect(lines).toEqual([
      ['day not closed', { day: DATE, kind: 'DamagedRow', partition: DAYS_PARTITION, row: DATE }],
      ['day closes', { day: days[1], closes: formatInstant(instantFrom(START + now + HOUR)) }],
    ]);
    expect(await openDays(storage)).toEqual(days);
  });
});
