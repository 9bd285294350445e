import { beforeAll, describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/steps.ts';
import { CamerasReader } from '../../../src/analytics/read/cameras.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { cameraKey, SHARDS_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { ANY_VERSION, type NewProperties, type StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { damagedRowOf, MemoryStorage, plainAnswer } from '../counting.ts';
import { DAY, Oracle, type PlainAnswer, type PlainMessage, type Question } from '../oracle.ts';

const START = 20_778n * DAY;
const [SECOND, MINUTE, HOUR] = [1_000_000n, 60_000_000n, 3_600_000_000n];
const DATE = dayOf(instantFrom(START));
const SHARD = shardPartition(DATE, 0);

/** A question, or one about the steps of its period. */
interface Asked extends Question {
  readonly step?: Step;
}

/** Counts the rows that are read by their keys and the queries, and notes the properties that queries answer. */
class WatchedTable extends Table {
  rows = 0;
  queries = 0;
  readonly names = new Set<string>();

  override async get(...args: Parameters<Table['get']>): Promise<StoredRow | undefined> {
    this.rows += 1;
    return super.get(...args);
  }

  override pages(...args: Parameters<Table['pages']>): ReturnType<Table['pages']> {
    this.queries += 1;
    return super.pages(...args);
  }

  override async page(...args: Parameters<Table['page']>): ReturnType<Table['page']> {
    const page = await super.page(...args);
    for (const { properties } of page.rows) for (const name of Object.keys(properties)) this.names.add(name);
    return page;
  }
}

/** A storage with messages, and what the oracle says about them. */
const recorded = async (messages: readonly PlainMessage[]) => {
  const storage = new MemoryStorage();
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  await storage.process().record(messages);
  const watched = (): WatchedTable => new WatchedTable(storage.connection, { format: FORMAT });
  return { storage, oracle, watched };
};

/** An answer with the number of cameras in place of their ids, as a step has it. */
const counted = ({ active_camera_ids: ids, ...counts }: PlainAnswer, cameras = ids.length) => ({ ...counts, cameras });

/** What a reader without memory answers, and what is expected. */
const answers = async (table: Table, oracle: Oracle, { start, end, cameraId, step }: Asked) => {
  const reader = new Reader(table, new DayShards(table, 1));
  const period = { start: instantFrom(start), end: instantFrom(end) };
  const whose = cameraId === undefined ? {} : { cameraId };
  if (step === undefined) {
    const { tally, activeCameras } = await reader.activity(period, cameraId);
    return { answered: plainAnswer(tally, activeCameras), expected: oracle.answer({ ...period, ...whose }) };
  }
  const steps = await reader.series(period, step, cameraId);
  return {
    answered: steps.map(({ tally, activeCameras }) => counted(plainAnswer(tally, []), activeCameras)),
    expected: steps.map((one) => counted(oracle.answer({ ...one.period, ...whose }))),
  };
};

const frame = (cameraId: string, ts: bigint): PlainMessage => ({
  cameraId,
  eventId: `f-${ts}`,
  ts,
  time: ts,
  detections: { smoke: 1 },
});

/** Frames over two days at a fixed interval, of so many cameras in turn. */
const network = (cameras: number, everyMicroseconds: bigint): readonly PlainMessage[] =>
  Array.from({ length: Number((2n * DAY) / everyMicroseconds) }, (_, index) =>
    frame(`ridge-${index % cameras}`, START + BigInt(index) * everyMicroseconds),
  );

const RAGGED = 20n * MINUTE + 12_345_678n;
const WHOLE_DAY = { start: START, end: START + DAY - 1n };
const RAGGED_DAY = { start: START + RAGGED, end: START + DAY - RAGGED };
const lasting = (length: bigint): Question => ({ start: START + RAGGED, end: START + RAGGED + length });

describe('however many events and cameras there are, and with a read of the manifest of each day, a question', () => {
  let networks: readonly Awaited<ReturnType<typeof recorded>>[] = [];
  beforeAll(async () => {
    networks = [await recorded(network(10, 30n * MINUTE)), await recorded(network(300, MINUTE))];
  });
  const cameraId = 'ridge-7';

  it.each<readonly [string, number, Asked]>([
    ['an hour', 8, lasting(HOUR)],
    ['24 hours', 12, lasting(DAY)],
    ['36 hours', 13, lasting(36n * HOUR)],
    ['36 hours of a camera', 9, { ...lasting(36n * HOUR), cameraId }],
    ['half a second', 4, lasting(SECOND / 2n)],
    ['a whole day', 3, WHOLE_DAY],
    ['a whole day of a camera', 3, { ...WHOLE_DAY, cameraId }],
    ['three days of which one is empty', 7, { start: START, end: START + 3n * DAY - 1n }],
    ['the hours of a day', 4, { ...WHOLE_DAY, step: 'hour' }],
    ['the minutes of a day', 27, { ...WHOLE_DAY, step: 'minute' }],
    ['a day as a step', 3, { ...WHOLE_DAY, step: 'day' }],
    ['a ragged day', 10, RAGGED_DAY],
    ['the hours of a ragged day', 10, { ...RAGGED_DAY, step: 'hour' }],
    ['the minutes of a ragged day', 31, { ...RAGGED_DAY, step: 'minute' }],
    ['the hours of a day of a camera', 3, { ...WHOLE_DAY, cameraId, step: 'hour' }],
    ['the minutes of a day of a camera', 3, { ...WHOLE_DAY, cameraId, step: 'minute' }],
    ['the hours of a ragged day of a camera', 7, { ...RAGGED_DAY, cameraId, step: 'hour' }],
  ])('about %s reads %i rows by their keys', async (_, rows, asked) => {
    for (const { oracle, watched } of networks) {
      const table = watched();
      const { answered, expected } = await answers(table, oracle, asked);
      expect(answered).toEqual(expected);
      expect([table.queries, table.rows]).toEqual([0, rows]);
    }
  });

  it.each([1, 3])(
    'about the cameras of a day makes one query for each of %i shards, without their hours',
    async (shards) => {
      const storage = new MemoryStorage();
      await storage.process(shards).record(network(7, 72n * MINUTE));
      const table = new WatchedTable(storage.connection, { format: FORMAT });
      const cameras = await new CamerasReader(table, new DayShards(table, 1)).ofDays(DATE, 1);
      expect(cameras.map(({ cameraId: id, tally }) => `${id}: ${tally.events}`).toSorted()).toEqual(
        [3, 3, 3, 3, 3, 3, 2].map((events, index) => `ridge-${index}: ${events}`),
      );
      expect([table.queries, table.rows]).toEqual([shards, 1]);
      expect([...table.names].toSorted()).toEqual(['day', 'format', 'place']);
    },
  );
});

it('seconds that have overflowed are answered exactly to the microsecond, also in steps, from one query', async () => {
  const overflowed = START + 8n * HOUR + 15n * MINUTE + 30n * SECOND;
  // With so many large counts a second overflows at about fifty frames.
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`c${index}`, 9_000 + index]));
  const messages = Array.from({ length: 90 }, (_, index): PlainMessage => {
    const frameOf = frame(`ridge-${index % 3}`, overflowed - 62_500n + BigInt(index) * 12_500n);
    return { ...frameOf, detections: many };
  });
  const { oracle, watched } = await recorded(messages);
  for (const [from, to] of [
    [1n, 499_999n],
    [-50_000n, 250_000n],
    [999_999n, 1_049_999n],
    [-HOUR, 500_000n],
  ] as const) {
    for (const more of [
      {},
      { cameraId: 'ridge-1' },
      { step: 'minute' },
      { cameraId: 'ridge-1', step: 'day' },
    ] as const) {
      const { answered, expected } = await answers(watched(), oracle, {
        start: overflowed + from,
        end: overflowed + to,
        ...more,
      });
      expect(answered).toEqual(expected);
    }
  }
  const table = watched();
  await answers(table, oracle, { start: overflowed, end: overflowed + 10n });
  expect(table.queries, 'a second has overflowed').toBe(1);
});

it('samples of a camera that has no row, which was damaged and set aside, are found by the camera list', async () => {
  const eight = START + 8n * HOUR;
  const { oracle, watched } = await recorded([frame('ridge-1', eight), frame('ridge-2', eight)]);
  await watched().delete(SHARD, [cameraKey('ridge-2')]);
  const { answered, expected } = await answers(watched(), oracle, {
    start: eight,
    end: eight + 5n,
    cameraId: 'ridge-2',
  });
  expect(answered).toEqual(expected);
});

/** From 07:00 to the middle of the second 08:01:00. */
const PERIOD = { start: START + 7n * HOUR, end: START + 8n * HOUR + MINUTE + SECOND / 2n };
const LATER_HOUR = { start: START + 8n * HOUR, end: START + 9n * HOUR - 1n };
const MINUTES = { ...WHOLE_DAY, step: 'minute' } as const;
const LACKING = { day: '{"events":2,"reviewed":0,"annotated":0,"categories":{}}' };
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

it.each<readonly [string, NewProperties, string, Asked | 'cameras']>([
  [SHARDS_KEY, { shards: 65 }, 'a day', WHOLE_DAY],
  ['total', { day: '{"events":1}' }, 'a day', WHOLE_DAY],
  ['total', { active_cameras: 9 }, 'a day', WHOLE_DAY],
  ['camera|ridge-1', { day: 5 }, 'a day of a camera', { ...WHOLE_DAY, cameraId: 'ridge-1' }],
  ['hours', { t08: bytes(1) }, 'an hour', LATER_HOUR],
  ['total', LACKING, 'an hour', LATER_HOUR],
  ['hour|08', { t00: 'text' }, 'a minute', PERIOD],
  ['minute|0801|00', { s00: bytes(1) }, 'half a second', PERIOD],
  ['camera|ridge-1', { m08: bytes(0) }, 'a minute of a camera', { ...PERIOD, cameraId: 'ridge-1' }],
  ['hours', { t08: bytes(1) }, 'hours', { ...WHOLE_DAY, step: 'hour' }],
  ['hour|08', { t00: 'text' }, 'minutes', MINUTES],
  ['total', LACKING, 'minutes', MINUTES],
  ['total', { active_cameras: 0, cameras: '' }, 'minutes', MINUTES],
  ['camera|ridge-1', { m08: bytes(0) }, 'minutes of a camera', { ...MINUTES, cameraId: 'ridge-1' }],
  ['camera|ridge-1', { day: 5 }, 'the cameras', 'cameras'],
])('with a damaged row %s (%o) %s cannot be answered, and the row is named', async (rowKey, properties, _, asked) => {
  const { storage, oracle, watched } = await recorded(
    [0n, MINUTE].map((into) => frame('ridge-1', START + 8n * HOUR + into)),
  );
  const answer = async (): Promise<unknown> =>
    asked === 'cameras' ? storage.process().cameras.ofDays(DATE, 1) : answers(watched(), oracle, asked);
  await answer();
  const partition = rowKey === SHARDS_KEY ? DATE : SHARD;
  await watched().transact(partition, [{ kind: 'merge', rowKey, etag: ANY_VERSION, properties }]);
  expect(await damagedRowOf(answer())).toEqual([partition, rowKey]);
});
