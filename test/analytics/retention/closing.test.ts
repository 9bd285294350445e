import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { NotRepairable, repairDay } from '../../../src/analytics/audit/repair.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { formatInstant, instantFrom } from '../../../src/analytics/model/instant.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { dayPartition, OPEN_DAYS_PARTITION, SHARDS_KEY } from '../../../src/analytics/rows/keys.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import type { RowWrite, StoredRow } from '../../../src/storage/row.ts';
import type { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { plainAnswer } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, Oracle, type PlainAnswer, type Question } from '../oracle.ts';
import {
  announceOn,
  closeOn,
  day,
  EDITS,
  EIGHT,
  LONG_AFTER,
  MESSAGES,
  partitions,
  processOn,
  recordDay,
  rowIn,
  SECOND,
  SHARDS,
  SILENT,
  START,
  tableOn,
} from './recorded-day.ts';

const CLOSED = { refused: 'the day of data.ts_utc is closed: its counts are final' };

const crowded = EIGHT + 15n * 60n * SECOND + 30n * SECOND;
const PERIODS = [
  { start: START, end: START + DAY - 1n },
  { start: crowded - 1n, end: crowded + SECOND },
  { start: crowded + 12_500n, end: crowded + 25_000n },
  { start: crowded - 62_500n, end: crowded + 1_062_500n },
  { start: EIGHT + 1n, end: crowded - 62_500n },
  { start: EIGHT + 25n * SECOND, end: EIGHT + 25n * SECOND },
];
const QUESTIONS: readonly Question[] = PERIODS.flatMap(({ start, end }) => [
  { start, end },
  { start, end, cameraId: 'crowded' },
  { start, end, cameraId: 'ridge-1' },
]);

const storeOf = (table: Table): [Table, DayShards] => [table, new DayShards(table, SHARDS)];

const answerOf = async (reader: Reader, question: Question | undefined): Promise<PlainAnswer> => {
  if (question === undefined) throw new Error('there is no such question');
  const { start, end, cameraId } = question;
  const { tally, activeCameras } = await reader.activity(
    { start: instantFrom(start), end: instantFrom(end) },
    cameraId,
  );
  return plainAnswer(tally, activeCameras);
};

const answersOf = async (storage: MemoryTable): Promise<readonly PlainAnswer[]> => {
  const reader = new Reader(...storeOf(tableOn(storage)));
  const answers: PlainAnswer[] = [];
  for (const question of QUESTIONS) answers.push(await answerOf(reader, question));
  return answers;
};

const expectedAnswers = (): readonly PlainAnswer[] => {
  const oracle = new Oracle();
  for (const message of [...MESSAGES, ...EDITS]) oracle.tell(message);
  return QUESTIONS.map((question) => oracle.answer(question));
};

const eventRows = (storage: MemoryTable): readonly StoredRow[] =>
  partitions.flatMap((own) => storage.rows(own)).filter(({ rowKey }) => rowKey.startsWith('event|'));

describe('a closed day', () => {
  it('answers as before to the microsecond, keeps only event rows of overflowed seconds, and refuses changes', async () => {
    const storage = new MemoryTable();
    await recordDay(storage);
    expect(
      partitions.some((own) => rowIn(storage, own, 'total 01')),
      'there are stripes',
    ).toBe(true);
    expect(await answersOf(storage)).toEqual(expectedAnswers());

    await announceOn(storage);
    await closeOn(tableOn(storage));

    expect(storage.rows(OPEN_DAYS_PARTITION)).toEqual([]);
    expect(await answersOf(storage)).toEqual(expectedAnswers());
    expect(eventRows(storage).map(({ properties }) => String(properties['ts_utc']).slice(11, 19))).toEqual(
      Array.from({ length: 80 }, () => '08:15:30'),
    );
    const late = [...MESSAGES.slice(0, 1), { cameraId: 'new', eventId: 'new', ts: EIGHT, time: START }];
    for (const process of [processOn(storage)]) {
      const outcomes = await process?.record(
        late.map((one) => toEventMessage({ ...one, time: START + DAY, reviewed: true })),
      );
      expect(outcomes).toEqual([CLOSED, CLOSED]);
    }
    expect(await answersOf(storage)).toEqual(expectedAnswers());
    const table = tableOn(storage);
    expect(await auditDay(table, day)).toMatchObject({ closed: true, differences: [] });
  });

  it('has an audit that still finds a counter that is wrong', async () => {
    const storage = new MemoryTable();
    await recordDay(storage);
    await announceOn(storage);
    await closeOn(tableOn(storage));
    const partition = partitions.find((own) => rowIn(storage, own, 'camera|crowded'));
    if (partition === undefined) throw new Error('the camera has no row');
    const stored = rowIn(storage, partition, 'camera|crowded')?.properties['day'];
    if (typeof stored !== 'string') throw new Error('the tally of a camera is text');
    const wrong = stored.replace('"events":', '"events":1');
    await storage.transact(partition, [
      { kind: 'merge', rowKey: 'camera|crowded', etag: '*', properties: { day: wrong } },
    ]);
    const table = tableOn(storage);
    const { differences } = await auditDay(table, day);
    expect(differences.map(({ counter }) => counter)).toEqual(['camera crowded']);
  });

  it.each<readonly [string, RowWrite]>([
    ['is lost', { kind: 'delete', rowKey: SHARDS_KEY }],
    ['knows fewer shards', { kind: 'merge', rowKey: SHARDS_KEY, etag: '*', properties: { shards: 1 } }],
  ])('has an audit that finds a manifest which %s, although no event row is left', async (_, damage) => {
    const storage = new MemoryTable();
    const process = processOn(storage);
    const ids = ['ridge-0', 'ridge-1', 'ridge-2', 'ridge-3', 'ridge-4', 'ridge-5'];
    await process.record(
      ids.map((cameraId) => toEventMessage({ cameraId, eventId: 'f', ts: EIGHT, time: START, reviewed: true })),
    );
    await announceOn(storage);
    await closeOn(tableOn(storage));
    expect(eventRows(storage)).toEqual([]);
    await storage.transact(dayPartition(day), [damage]);

    const { closed, differences } = await auditDay(tableOn(storage), day);
    expect(closed).toBe(true);
    expect(differences[0]).toMatchObject({ counter: 'shards', expected: 'more than 2' });
  });

  it('is not repaired where its manifest has lost the closing: no event row is left to count from', async () => {
    const storage = new MemoryTable();
    await recordDay(storage);
    await announceOn(storage);
    await closeOn(tableOn(storage));
    const write = { kind: 'replace', rowKey: SHARDS_KEY, etag: '*', properties: { shards: SHARDS } } as const;
    await storage.transact(dayPartition(day), [write]);
    const table = tableOn(storage);

    await expect(repairDay(table, await auditDay(table, day), { say: () => undefined })).rejects.toThrow(NotRepairable);
    expect(await answersOf(storage)).toEqual(expectedAnswers());
  });

  it('is not opened again where its manifest is lost: a repeat would be counted twice', async () => {
    const storage = new MemoryTable();
    await recordDay(storage);
    await announceOn(storage);
    await closeOn(tableOn(storage));
    await storage.transact(dayPartition(day), [{ kind: 'delete', rowKey: SHARDS_KEY }]);
    const before = partitions.map((own) => storage.rows(own));

    await expect(processOn(storage).record(MESSAGES.slice(0, 1).map(toEventMessage))).rejects.toThrow(DamagedRow);
    expect(partitions.map((own) => storage.rows(own))).toEqual(before);
    expect(storage.rows(OPEN_DAYS_PARTITION)).toEqual([]);
  });
});

describe('closing a day', () => {
  it('is left for the next run where the time is over', async () => {
    const storage = new MemoryTable();
    await recordDay(storage);
    const table = tableOn(storage);
    const lines: string[] = [];
    const log = { ...SILENT, info: (event: string) => void lines.push(event) };
    const shards = new DayShards(table, SHARDS);
    const closing = { table, shards, retentionDays: 1, now: () => LONG_AFTER };
    await announceOn(storage);
    const before = eventRows(storage).length;
    await closeDays({ ...closing, runMs: 0 }, log);
    expect(eventRows(storage)).toHaveLength(before);
    expect(storage.rows(OPEN_DAYS_PARTITION)).toHaveLength(1);
    await closeDays(closing, log);
    await closeDays(closing, log);
    expect(lines).toEqual(['day closed']);
  });

  it('leaves a day that is not old enough, and a day that cannot be closed holds up no other one', async () => {
    const storage = new MemoryTable();
    const process = processOn(storage);
    const days = [0n, 1n, 2n].map((after) => START + after * DAY);
    for (const start of days) {
      await process.record([toEventMessage({ cameraId: 'a', eventId: 'f', ts: start + SECOND, time: START })]);
    }
    await storage.transact(dayPartition(day), [
      { kind: 'merge', rowKey: SHARDS_KEY, etag: '*', properties: { shards: 'three' } },
    ]);
    const lines: unknown[] = [];
    const note = (event: string, fields?: object): void => void lines.push([event, fields]);
    const table = tableOn(storage);
    await closeDays(
      { table, shards: new DayShards(table, SHARDS), retentionDays: 1, now: () => instantFrom(START + 4n * DAY - 1n) },
      { info: note, warn: note, error: note },
    );
    const [first, second, third] = days.map((start) => dayOf(instantFrom(start)));
    expect(lines).toEqual([
      ['day not closed', { day: first, kind: 'DamagedRow', partition: first, row: SHARDS_KEY }],
      ['day closes', { day: second, closes: formatInstant(instantFrom(START + 4n * DAY - 1n + 120n * SECOND)) }],
    ]);
    expect(storage.rows(OPEN_DAYS_PARTITION).map(({ rowKey }) => rowKey)).toEqual([first, second, third]);
  });
});
