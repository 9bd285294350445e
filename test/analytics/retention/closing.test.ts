import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { formatInstant, instantFrom } from '../../../src/analytics/model/instant.ts';
import { closeDays, type ClosingDependencies } from '../../../src/analytics/retention/close-days.ts';
import { dayPartition, OPEN_DAYS_PARTITION, SHARDS_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf } from '../../../src/analytics/rows/minute-row.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { ANY_VERSION, type NewProperties, type RowWrite, type StoredRow } from '../../../src/storage/row.ts';
import { MemoryStorage } from '../counting.ts';
import { DAY, Oracle, type PlainAnswer, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const SECOND = 1_000_000n;
const EIGHT = START + 8n * 3_600n * SECOND;
const CROWDED = EIGHT + 15n * 60n * SECOND + 30n * SECOND;
const DATE = dayOf(instantFrom(START));
const SHARDS = 3;
const PARTITIONS = Array.from({ length: SHARDS }, (_, shard) => shardPartition(DATE, shard));
const CLOSED = { refused: 'the day of data.ts_utc is closed: its counts are final' };

/** With so many large counts a second overflows at about fifty frames. */
const MANY = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`c${index}`, 9_000 + index]));

/** 80 frames of a camera in the second from 08:15:30, and some before and after it in the same minute; 130 in other minutes. */
const MESSAGES: readonly PlainMessage[] = [
  ...Array.from({ length: 100 }, (_, index) => ({
    cameraId: 'crowded',
    eventId: `f${index}`,
    ts: CROWDED - 125_000n + BigInt(index) * 12_500n,
    time: START,
    detections: MANY,
    annotations: MANY,
  })),
  ...Array.from({ length: 130 }, (_, index) => ({
    cameraId: `ridge-${index % 2}`,
    eventId: `g${index}`,
    ts: EIGHT + BigInt(index) * 25n * SECOND,
    time: START,
    detections: { smoke: 1 },
  })),
];
const EDITS = MESSAGES.filter((_, index) => index % 7 === 0).map((message) =>
  Object.assign({}, message, { time: START + 1n, reviewed: true }),
);

const QUESTIONS = [
  { start: START, end: START + DAY - 1n },
  { start: CROWDED - 1n, end: CROWDED + SECOND },
  { start: CROWDED + 12_500n, end: CROWDED + 25_000n },
  { start: CROWDED - 62_500n, end: CROWDED + 1_062_500n },
  { start: EIGHT + 1n, end: CROWDED - 62_500n },
  { start: EIGHT + 25n * SECOND, end: EIGHT + 25n * SECOND },
].flatMap((period) => [period, { ...period, cameraId: 'crowded' }, { ...period, cameraId: 'ridge-1' }]);

/** A day of two instances in turn, and so of two stripes. */
const recordedDay = async (): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  const processes = [storage.process(SHARDS), storage.process(SHARDS)];
  for (const messages of [MESSAGES.slice(0, 60), MESSAGES.slice(60), EDITS]) {
    for (const [index, process] of processes.entries())
      await process.record(messages.filter((_, at) => at % 2 === index));
  }
  return storage;
};

/** Changes a row, whatever its version. */
const change = async ({ connection }: MemoryStorage, partition: string, write: RowWrite): Promise<void> =>
  void (await connection.transact(partition, [write]));
const merge = (rowKey: string, properties: NewProperties): RowWrite => ({
  kind: 'merge',
  rowKey,
  etag: ANY_VERSION,
  properties,
});

const LONG_AFTER = instantFrom(START + 30_000n * DAY);

/** A run of the timer long after the day; more options as given. */
const run = async (storage: MemoryStorage, options: Partial<ClosingDependencies> = {}) => {
  const lines: (readonly [event: string, fields: object | undefined])[] = [];
  const log = (event: string, fields?: object): void => void lines.push([event, fields]);
  const { table, shards } = storage.process(SHARDS);
  const closing = { table, shards, retentionDays: 1, now: () => LONG_AFTER, ...options };
  await closeDays(closing, { info: log, warn: log, error: log });
  return lines;
};

/** Closes a day that was announced to close long ago. */
const close = async (storage: MemoryStorage): Promise<void> => {
  await change(storage, dayPartition(DATE), merge(SHARDS_KEY, { closes: '2026-01-01T00:00:00.000000Z' }));
  await run(storage);
};

const eventRows = ({ connection }: MemoryStorage): readonly StoredRow[] =>
  PARTITIONS.flatMap((own) => connection.rows(own)).filter(({ rowKey }) => rowKey.startsWith('event|'));

const openDays = ({ connection }: MemoryStorage): readonly string[] =>
  connection.rows(OPEN_DAYS_PARTITION).map(({ rowKey }) => rowKey);

const answersOf = async (storage: MemoryStorage): Promise<readonly PlainAnswer[]> =>
  Promise.all(QUESTIONS.map(async (question) => storage.process(SHARDS).answer(question)));

const expectedAnswers = (): readonly PlainAnswer[] => {
  const oracle = new Oracle();
  for (const message of [...MESSAGES, ...EDITS]) oracle.tell(message);
  return QUESTIONS.map((question) => oracle.answer(question));
};

describe('a closed day', () => {
  it('answers as before to the microsecond, keeps only event rows of overflowed seconds, and refuses changes', async () => {
    const storage = await recordedDay();
    const keys = PARTITIONS.flatMap((own) => storage.connection.rows(own).map(({ rowKey }) => rowKey));
    expect(keys, 'there are stripes').toContain('total 01');
    expect(await answersOf(storage)).toEqual(expectedAnswers());

    await close(storage);

    expect(openDays(storage)).toEqual([]);
    const seconds = eventRows(storage).map(({ properties }) => String(properties['ts_utc']).slice(11, 19));
    expect(seconds).toEqual(Array.from({ length: 80 }, () => '08:15:30'));
    const late = [...MESSAGES.slice(0, 1), { cameraId: 'new', eventId: 'new', ts: EIGHT, time: START }];
    const edits = late.map((one) => Object.assign({}, one, { time: START + DAY, reviewed: true }));
    expect(await storage.process(SHARDS).record(edits)).toEqual([CLOSED, CLOSED]);
    expect(await answersOf(storage)).toEqual(expectedAnswers());
    const { table } = storage.process(SHARDS);
    expect(await auditDay(table, DATE)).toMatchObject({ closed: true, differences: [] });

    // An audit still finds a counter that is wrong.
    const hasCamera = (own: string): boolean => eventRows(storage).some(({ partitionKey }) => partitionKey === own);
    const partition = PARTITIONS.find(hasCamera) ?? '';
    const day = (await table.get(partition, 'camera|crowded'))?.properties['day'];
    await change(storage, partition, merge('camera|crowded', { day: String(day).replace('"events":', '"events":1') }));
    const { differences } = await auditDay(table, DATE);
    expect(differences.map(({ counter }) => counter)).toEqual(['camera crowded']);
  });

  it('keeps an event of which it cannot be told whether its second has overflowed', async () => {
    const storage = new MemoryStorage();
    const ids = ['ridge-1', 'ridge-2', 'ridge-3'];
    const minutes = ids.map((cameraId, index) => ({
      cameraId,
      eventId: 'f',
      ts: EIGHT + BigInt(index) * 60n * SECOND,
      time: START,
    }));
    await storage.process(1).record(minutes);
    const partition = shardPartition(DATE, 0);
    await change(storage, partition, merge('minute|0800|00', { s00: 'text' }));
    await change(storage, partition, merge('event|0801|ridge-2|f', { ts_utc: 'text' }));
    await close(storage);
    expect(eventRows(storage).map(({ rowKey }) => rowKey)).toEqual(['event|0800|ridge-1|f', 'event|0801|ridge-2|f']);
  });

  it.each([0, 1])(
    'answers, as before, from event rows about a second that has overflowed in stripe %i of two alone',
    async (stripe) => {
      const storage = new MemoryStorage();
      const [inSecond, inFirst] = [storage.process(), storage.process()];
      const frame = (eventId: string, into: bigint, detections = {}): PlainMessage => {
        const known = { cameraId: 'ridge-1', eventId, ts: CROWDED + into, time: START };
        return { ...known, detections };
      };
      // The second one to record takes the first one's stripe over, so the first one moves to another.
      const early = [frame('one', -2n * SECOND), frame('other', -3n * SECOND)];
      const [crowding, other] = stripe === 0 ? [inFirst, inSecond] : [inSecond, inFirst];
      const crowd = Array.from({ length: 80 }, (_, index) => frame(`f${index}`, BigInt(index) * 12_500n, MANY));
      const few = [1n, 500_001n].map((into) => frame(`few${into}`, into, { smoke: 2, fire: 1 }));
      const edit = { ...frame('f3', 37_500n), time: START + 1n, reviewed: true, annotations: { fire: 3 } };
      await inSecond.record(early.slice(0, 1));
      await inFirst.record(early.slice(1));
      await crowding.record(crowd);
      await other.record([...few, edit]);
      const minuteRows = storage.connection
        .rows(shardPartition(DATE, 0))
        .filter(({ rowKey }) => /^minute.0815.30/.test(rowKey));
      const overflowed = minuteRows.map((row) => overflowedSecondsOf(minuteRowFrom(row)).length > 0);
      expect(overflowed).toEqual([stripe === 0, stripe === 1]);

      const oracle = new Oracle();
      for (const told of [...early, ...crowd, ...few, edit]) oracle.tell(told);
      const expected = QUESTIONS.map((question) => oracle.answer(question));
      expect(await answersOf(storage)).toEqual(expected);
      await close(storage);
      expect(await answersOf(storage)).toEqual(expected);
      expect((await auditDay(inFirst.table, DATE)).differences).toEqual([]);
    },
  );

  it('is not opened again if its manifest is lost: a repeat would be counted twice', async () => {
    const storage = await recordedDay();
    await close(storage);
    await change(storage, dayPartition(DATE), { kind: 'delete', rowKey: SHARDS_KEY });
    await expect(storage.process(SHARDS).record(MESSAGES.slice(0, 1))).rejects.toThrow(DamagedRow);
    expect(openDays(storage)).toEqual([]);
  });
});

describe('closing a day', () => {
  it('is left for the next run if the time is over', async () => {
    const storage = await recordedDay();
    await change(storage, dayPartition(DATE), merge(SHARDS_KEY, { closes: '2026-01-01T00:00:00.000000Z' }));
    const before = eventRows(storage).length;
    expect(await run(storage, { runMs: 0 })).toEqual([]);
    expect([eventRows(storage).length, openDays(storage)]).toEqual([before, [DATE]]);
    const lines = [...(await run(storage)), ...(await run(storage))];
    expect(lines.map(([event]) => event)).toEqual(['day closed']);
  });

  it('deletes event rows two minutes after the day closed, and no earlier: a transaction may be under way', async () => {
    const storage = new MemoryStorage();
    await storage.process().record([{ cameraId: 'a', eventId: 'f', ts: EIGHT, time: START }]);
    const announced = START + 2n * DAY;
    for (const [after, event, rows] of [
      [0n, 'day closes', 1],
      [240n * SECOND - 1n, 'day closes', 1],
      [240n * SECOND, 'day closed', 0],
    ] as const) {
      const lines = await run(storage, { now: () => instantFrom(announced + after) });
      expect([lines.map(([line]) => line), eventRows(storage).length]).toEqual([[event], rows]);
    }
  });

  it('leaves a day that is not old enough, and a day that cannot be closed holds up no other one', async () => {
    const storage = new MemoryStorage();
    const starts = [0n, 1n, 2n].map((after) => START + after * DAY);
    const messages = starts.map((start) => ({ cameraId: 'a', eventId: 'f', ts: start + SECOND, time: START }));
    await storage.process(SHARDS).record(messages);
    await change(storage, dayPartition(DATE), merge(SHARDS_KEY, { shards: 'three' }));
    const lines = await run(storage, { now: () => instantFrom(START + 4n * DAY - 1n) });
    const days = starts.map((start) => dayOf(instantFrom(start)));
    expect(lines).toEqual([
      ['day not closed', { day: DATE, kind: 'DamagedRow', partition: DATE, row: SHARDS_KEY }],
      ['day closes', { day: days[1], closes: formatInstant(instantFrom(START + 4n * DAY - 1n + 120n * SECOND)) }],
    ]);
    expect(openDays(storage)).toEqual(days);
  });
});
