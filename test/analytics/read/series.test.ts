import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { STEPS, type Step } from '../../../src/analytics/model/steps.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { CountingStorage, plainAnswer } from '../counting.ts';
import { damage, damagedRowOf } from '../damage.ts';
import { DAY, Oracle, type PlainAnswer, type PlainMessage, type Question } from '../oracle.ts';
import { WatchedTable } from '../watched-table.ts';

const START = 20_778n * DAY;
const [SECOND, MINUTE, HOUR] = [1_000_000n, 60_000_000n, 3_600_000_000n];
const RAGGED = 20n * MINUTE + 12_345_678n;

/** What a step answers, in the form of the oracle: with the number of cameras in place of their ids. */
const counted = ({ active_camera_ids: ids, ...counts }: PlainAnswer) => ({ ...counts, active_cameras: ids.length });

/** The steps of a series, and what the oracle says about each. */
const compared = async (series: Reader, oracle: Oracle, { start, end, cameraId }: Question, step: Step) => {
  const steps = await series.series({ start: instantFrom(start), end: instantFrom(end) }, step, cameraId);
  const whose = cameraId === undefined ? {} : { cameraId };
  return {
    answered: steps.map(({ tally, activeCameras }) => ({
      ...counted(plainAnswer(tally, [])),
      active_cameras: activeCameras,
    })),
    expected: steps.map(({ period }) => counted(oracle.answer({ ...period, ...whose }))),
  };
};

/** Frames over two days at a fixed interval, of so many cameras in turn. */
const network = (cameras: number, everyMicroseconds: bigint): readonly PlainMessage[] =>
  Array.from({ length: Number((2n * DAY) / everyMicroseconds) }, (_, index): PlainMessage => {
    const ts = START + BigInt(index) * everyMicroseconds;
    return { cameraId: `ridge-${index % cameras}`, eventId: `f-${index}`, ts, time: ts, detections: { smoke: 1 } };
  });

const told = (oracle: Oracle, messages: readonly PlainMessage[]): Oracle => {
  for (const message of messages) oracle.tell(message);
  return oracle;
};

const WHOLE_DAY = { start: START, end: START + DAY - 1n };
const RAGGED_DAY = { start: START + RAGGED, end: START + DAY - RAGGED };

describe('a series', () => {
  it('reads so many rows by their keys, however many events and cameras there are', async () => {
    for (const messages of [network(10, 30n * MINUTE), network(300, MINUTE)]) {
      const storage = new CountingStorage();
      const oracle = told(new Oracle(), messages);
      await storage.process().record(messages);
      // Each with a read of the day's manifest.
      for (const [name, question, step, reads] of [
        ['the hours of a day', WHOLE_DAY, 'hour', 4],
        ['the minutes of a day', WHOLE_DAY, 'minute', 27],
        ['a day', WHOLE_DAY, 'day', 3],
        ['the hours of a ragged day', RAGGED_DAY, 'hour', 10],
        ['the minutes of a ragged day', RAGGED_DAY, 'minute', 31],
        ['the hours of a camera', { ...WHOLE_DAY, cameraId: 'ridge-7' }, 'hour', 3],
        ['the minutes of a camera', { ...WHOLE_DAY, cameraId: 'ridge-7' }, 'minute', 3],
        ['the hours of a ragged day of a camera', { ...RAGGED_DAY, cameraId: 'ridge-7' }, 'hour', 7],
      ] as const satisfies readonly (readonly [string, Question, Step, number])[]) {
        const table = new WatchedTable(new AzureTable(() => storage.client()), { format: FORMAT });
        const series = new Reader(table, new DayShards(table, 1));
        const { answered, expected } = await compared(series, oracle, question, step);
        expect([name, answered]).toEqual([name, expected]);
        expect([name, table.queries, table.rows]).toEqual([name, 0, reads]);
      }
    }
  }, 60_000);

  it('of hours costs no more reads than one question about the same ragged day', async () => {
    const storage = new CountingStorage();
    await storage.process().record(network(10, 30n * MINUTE));
    const period = { start: instantFrom(RAGGED_DAY.start), end: instantFrom(RAGGED_DAY.end) };
    for (const cameraId of [undefined, 'ridge-3']) {
      const [table, ofSeries] = [
        new WatchedTable(new AzureTable(() => storage.client()), { format: FORMAT }),
        new WatchedTable(new AzureTable(() => storage.client()), { format: FORMAT }),
      ];
      await new Reader(table, new DayShards(table, 1)).activity(period, cameraId);
      await new Reader(ofSeries, new DayShards(ofSeries, 1)).series(period, 'hour', cameraId);
      expect(ofSeries.rows).toBe(table.rows);
    }
  });

  it('has empty steps where nothing happened', async () => {
    const series = new CountingStorage().process().reader;
    const steps = await series.series({ start: instantFrom(START), end: instantFrom(START + 3n * DAY) }, 'day');
    expect(steps.map(({ tally, activeCameras }) => [tally.events, activeCameras])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  it('counts a camera once in a step, also where its second has overflowed', async () => {
    const overflowed = START + 8n * HOUR + 15n * MINUTE + 30n * SECOND;
    const messages = Array.from({ length: 2_400 }, (_, index): PlainMessage => {
      const ts = overflowed - 100_000n + BigInt(index) * 500n;
      return { cameraId: `ridge-${index % 3}`, eventId: `f-${index}`, ts, time: ts, detections: { smoke: 1 } };
    });
    const storage = new CountingStorage();
    const oracle = told(new Oracle(), messages);
    const process = storage.process();
    await process.record(messages);
    for (const step of STEPS) {
      for (const period of [
        { start: overflowed - HOUR, end: overflowed + 1n },
        { start: overflowed + 250_000n, end: overflowed + HOUR },
        { start: overflowed - 50_000n, end: overflowed + 250_000n },
      ]) {
        for (const whose of [{}, { cameraId: 'ridge-1' }, { cameraId: 'ridge-9' }]) {
          const { answered, expected } = await compared(process.reader, oracle, { ...period, ...whose }, step);
          expect(answered).toEqual(expected);
        }
      }
    }
  }, 60_000);

  it.each<readonly [string, Step, Question, string, Record<string, unknown>]>([
    ['hours', 'hour', WHOLE_DAY, 'hours', { t08: new Uint8Array([1]) }],
    ['minutes', 'minute', WHOLE_DAY, 'hour|08', { t00: 'text' }],
    ['hours', 'hour', WHOLE_DAY, 'total', { day: '{"events":2,"reviewed":0,"annotated":0,"categories":{}}' }],
    ['hours', 'hour', WHOLE_DAY, 'total', { active_cameras: 0, cameras: '' }],
    [
      'minutes of a camera',
      'minute',
      { ...WHOLE_DAY, cameraId: 'ridge-1' },
      'camera|ridge-1',
      { m08: new Uint8Array([0]) },
    ],
  ])(
    'that needs a damaged row fails with its keys: %s, %s',
    async (_name, step, { start, end, cameraId }, row, properties) => {
      const storage = new CountingStorage();
      const ts = START + 8n * HOUR;
      await storage.process().record([{ cameraId: 'ridge-1', eventId: 'f', ts, time: ts, detections: { smoke: 1 } }]);
      const partition = `${dayOf(instantFrom(START))}_00`;
      const asked = async () =>
        storage.process().reader.series({ start: instantFrom(start), end: instantFrom(end) }, step, cameraId);
      expect((await asked()).filter(({ activeCameras }) => activeCameras === 1)).toHaveLength(1);
      await damage(storage, partition, row, properties);
      const [damagedPartition, damagedRow] = await damagedRowOf(asked());
      expect([damagedPartition, damagedRow]).toEqual([partition, row]);
    },
  );
});

/** Answers the first read of the total with an earlier version of it. */
class LaggingTable extends Table {
  before: StoredRow | undefined;

  override async get(...args: Parameters<Table['get']>): Promise<StoredRow | undefined> {
    const [, rowKey] = args;
    const { before } = this;
    if (rowKey !== TOTAL_KEY || before === undefined) return super.get(...args);
    this.before = undefined;
    return before;
  }
}

describe('a total that was read before a camera or a category was added, and other rows after', () => {
  it.each<[string, Pick<Question, 'cameraId'>]>([
    ['all cameras', {}],
    ['one camera', { cameraId: 'ridge-2' }],
  ])('is read again for the steps of %s', async (_, whose) => {
    const storage = new CountingStorage();
    const process = storage.process();
    const table = new LaggingTable(new AzureTable(() => storage.client()), { format: FORMAT });
    const at = (into: bigint, cameraId: string, category: string): PlainMessage => {
      const ts = START + 8n * HOUR + into;
      return { cameraId, eventId: `f-${into}`, ts, time: ts, detections: { [category]: 1 } };
    };
    const first = [at(0n, 'ridge-1', 'smoke'), at(1n, 'ridge-2', 'smoke')];
    const later = [5n, MINUTE, HOUR].flatMap((into) => [at(into, 'ridge-2', 'fog'), at(into + 1n, 'ridge-3', 'fog')]);
    const oracle = told(new Oracle(), [...first, ...later]);
    await process.record(first);
    const before = await table.get(`${dayOf(instantFrom(START))}_00`, TOTAL_KEY);
    await process.record(later);
    for (const step of STEPS) {
      for (const length of [0n, 10n, MINUTE, HOUR, 3n * HOUR]) {
        table.before = before;
        const start = START + 8n * HOUR + 5n;
        const series = new Reader(table, new DayShards(table, 1));
        const { answered, expected } = await compared(series, oracle, { start, end: start + length, ...whose }, step);
        expect(answered).toEqual(expected);
      }
    }
  });
});
