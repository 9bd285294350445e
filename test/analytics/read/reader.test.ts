import { beforeAll, describe, expect, it } from 'vitest';

import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { Step } from '../../../src/analytics/model/steps.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { InterposedTable } from '../../storage/interposed-table.ts';
import { all, CountingProcess, damagedRowOf, DATE, frame, SHARD, START, WHOLE_DAY } from '../counting.ts';
import { countsIn } from '../counting-service.ts';
import { DAY, Oracle, type PlainAnswer, plainAnswerOf, type PlainMessage, type Question } from '../oracle.ts';

const [SECOND, MINUTE, HOUR] = [1_000_000n, 60_000_000n, 3_600_000_000n];

/** A question, or one about the steps of its period. */
interface Asked extends Question {
  readonly step?: Step;
}

/** A storage with messages, and what the oracle says about them. */
const recorded = async (messages: readonly PlainMessage[]) => {
  const storage = new InterposedTable();
  await new CountingProcess(storage).record(messages);
  return { storage, oracle: new Oracle(messages) };
};

/** An answer with the number of cameras in place of their ids, as a step has it. */
const counted = ({ active_camera_ids: ids, ...counts }: PlainAnswer, cameras = ids.length) => ({ ...counts, cameras });

/** What a reader without memory answers, what is expected, and the requests that it makes: rows by their keys, and queries. */
const answers = async (storage: InterposedTable, oracle: Oracle, asked: Asked) => {
  const requests = { get: 0, page: 0, transact: 0, create: 0 };
  storage.turn = async ({ kind }) => void (requests[kind] += 1);
  const { start, end, cameraId, step } = asked;
  const process = new CountingProcess(storage);
  if (step === undefined) {
    return { answered: await process.answer(asked), expected: oracle.answer(asked), requests };
  }
  const period = { start: instantFrom(start), end: instantFrom(end) };
  const steps = await process.reader.series(period, step, cameraId);
  return {
    answered: steps.map(({ tally, activeCameras }) =>
      counted(plainAnswerOf({ counts: countsIn(tally), cameras: new Set() }), activeCameras),
    ),
    expected: steps.map((one) => counted(oracle.answer({ ...asked, ...one.period }))),
    requests,
  };
};

/** Frames over two days at a fixed interval, of so many cameras in turn. */
const network = (cameras: number, everyMicroseconds: bigint): readonly PlainMessage[] =>
  all(Number((2n * DAY) / everyMicroseconds)).map((index) =>
    frame(`ridge-${index % cameras}`, `f-${index}`, START + BigInt(index) * everyMicroseconds),
  );

const RAGGED = 20n * MINUTE + 12_345_678n;
const RAGGED_DAY = { start: START + RAGGED, end: START + DAY - RAGGED };
const lasting = (length: bigint): Question => ({ start: START + RAGGED, end: START + RAGGED + length });

describe('however many events and cameras there are, and with a read of the row of each day, a question', () => {
  let networks: readonly Awaited<ReturnType<typeof recorded>>[] = [];
  beforeAll(async () => {
    networks = [await recorded(network(10, 30n * MINUTE)), await recorded(network(300, MINUTE))];
  });
  const cameraId = 'ridge-7';

  it.each<readonly [string, number, Asked]>([
    ['an hour', 7, lasting(HOUR)],
    ['36 hours', 9, lasting(36n * HOUR)],
    ['36 hours of a camera', 9, { ...lasting(36n * HOUR), cameraId }],
    ['half a second', 3, lasting(SECOND / 2n)],
    ['three days of which one is empty', 5, { start: START, end: START + 3n * DAY - 1n }],
    ['a whole day of a camera', 3, { ...WHOLE_DAY, cameraId }],
    ['a day as a step', 2, { ...WHOLE_DAY, step: 'day' }],
    ['the hours of a ragged day', 8, { ...RAGGED_DAY, step: 'hour' }],
    ['the minutes of a ragged day', 30, { ...RAGGED_DAY, step: 'minute' }],
    ['the minutes of a day of a camera', 3, { ...WHOLE_DAY, cameraId, step: 'minute' }],
    ['the hours of a ragged day of a camera', 7, { ...RAGGED_DAY, cameraId, step: 'hour' }],
  ])('about %s reads %i rows by their keys', async (_, rows, asked) => {
    for (const { oracle, storage } of networks) {
      const { answered, expected, requests } = await answers(storage, oracle, asked);
      expect(answered).toEqual(expected);
      expect(requests).toEqual({ get: rows, page: 0, transact: 0, create: 1 });
    }
  });

  it.each([1, 3])(
    'about the cameras of a day makes one query for each of %i shards, without their hours',
    async (shards) => {
      const storage = new InterposedTable();
      await new CountingProcess(storage, shards).record(network(7, 72n * MINUTE));
      const requests: unknown[] = [];
      storage.turn = async ({ kind, select }) => void requests.push(kind === 'page' ? select : kind);
      const cameras = await new CountingProcess(storage).reader.cameras(DATE, 1);
      expect(cameras.map(({ cameraId: id, tally }) => `${id}: ${tally.events}`).toSorted()).toEqual(
        [3, 3, 3, 3, 3, 3, 2].map((events, index) => `ridge-${index}: ${events}`),
      );
      const perShard = all(shards);
      expect(requests).toEqual([
        'create',
        'get',
        ...perShard.map(() => ['day', 'format']),
        ...perShard.map(() => 'get'),
      ]);
    },
  );
});

/** From 07:00 to the middle of the second 08:01:00. */
const PERIOD = { start: START + 7n * HOUR, end: START + 8n * HOUR + MINUTE + SECOND / 2n };
const LATER_HOUR = { start: START + 8n * HOUR, end: START + 9n * HOUR - 1n };
const MINUTES = { ...WHOLE_DAY, step: 'minute' } as const;
const LACKING = { day: '{"events":2,"reviewed":0,"annotated":0,"categories":{}}' };
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

// What damage there can be to each kind of row is tested with the rows; here, that it is met where rows are added up.
it.each<readonly [string, NewProperties, string, Asked | 'cameras']>([
  ['day', { day: '{"events":1}' }, 'a day', WHOLE_DAY],
  ['camera|ridge-1', { day: 5 }, 'the cameras', 'cameras'],
  ['day', { tally_08: bytes(1) }, 'an hour', LATER_HOUR],
  ['day', LACKING, 'an hour', LATER_HOUR],
  ['minute|0801|00', { second_00: bytes(1) }, 'half a second', PERIOD],
  ['camera|ridge-1', { minutes_08: bytes(0) }, 'a minute of a camera', { ...PERIOD, cameraId: 'ridge-1' }],
  ['day', { cameras: 7 }, 'minutes', MINUTES],
  ['day', { stripes: 0 }, 'a day', WHOLE_DAY],
  ['day', { mark: -1 }, 'a day of a camera', { ...WHOLE_DAY, cameraId: 'ridge-1' }],
])('with a damaged row %s (%o) %s cannot be answered, and the row is named', async (rowKey, properties, _, asked) => {
  const { storage, oracle } = await recorded(
    [0n, MINUTE].map((into) => frame('ridge-1', `f-${into}`, START + 8n * HOUR + into)),
  );
  const answer = async (): Promise<unknown> =>
    asked === 'cameras' ? new CountingProcess(storage).reader.cameras(DATE, 1) : answers(storage, oracle, asked);
  await answer();
  await storage.transact(SHARD, [{ kind: 'merge', rowKey, etag: '*', properties }]);
  expect(await damagedRowOf(answer())).toEqual([SHARD, rowKey]);
});
