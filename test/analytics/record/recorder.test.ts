import { describe, expect, it } from 'vitest';

import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const SECOND = 1_000_000n;

const frame = (eventId: string, ts = START, cameraId = 'a'): PlainMessage => ({
  cameraId,
  eventId,
  ts,
  time: ts,
  detections: { smoke: 1 },
});

/** What a storage does before it carries out a request. */
type Turn = (request: 'read' | 'transaction', partitionKey: string) => Promise<void>;

/** A recorder on a table in memory, and the lines that it logs. Between tries it does not wait. */
const recorderOn = (turn: Turn) => {
  class TurnTable extends MemoryTable {
    override async get(...args: Parameters<MemoryTable['get']>): ReturnType<MemoryTable['get']> {
      await turn('read', args[0]);
      return super.get(...args);
    }
    override async page(...args: Parameters<MemoryTable['page']>): ReturnType<MemoryTable['page']> {
      await turn('read', args[0]);
      return super.page(...args);
    }
    override async transact(...args: Parameters<MemoryTable['transact']>): ReturnType<MemoryTable['transact']> {
      await turn('transaction', args[0]);
      return super.transact(...args);
    }
  }
  const lines: unknown[] = [];
  const note = (event: string, fields?: object): void => void lines.push([event, fields]);
  const table = new Table(new TurnTable(), { format: FORMAT, deadlineMs: 60_000 });
  const log = { info: note, warn: note, error: note };
  const recorder = new Recorder(table, new DayShards(table, 1), log, { pause: async () => undefined });
  const record = async (messages: readonly PlainMessage[]) => recorder.record(messages.map(toEventMessage));
  return { recorder, record, lines };
};

describe('a steady stream of new frames', () => {
  it('takes no reads over minutes and hours, and as few transactions as it fits in', async () => {
    const requests = { read: 0, transaction: 0 };
    const { record } = recorderOn(async (request) => void (requests[request] += 1));
    const at = START + 3_540n * SECOND;
    const cameras = ['a', 'b', 'c'];
    await record(cameras.map((cameraId) => frame('first', at, cameraId)));
    Object.assign(requests, { read: 0, transaction: 0 });
    const frames = Array.from({ length: 540 }, (_, index) =>
      frame(`f-${index}`, at + (BigInt(index + 1) * SECOND) / 2n, cameras[index % cameras.length]),
    );
    for (const one of frames.slice(0, 240)) await record([one]);
    expect(requests).toEqual({ read: 0, transaction: 240 });
    // Many at once: each transaction but the last is prepared while the one before is written.
    await record(frames.slice(240));
    expect(requests).toEqual({ read: 0, transaction: 244 });
  });
});

describe('what waits to be recorded', () => {
  it("is bounded from the moment it is taken, also while the day's first event claims it", async () => {
    const opened = Promise.withResolvers<void>();
    const { recorder, record, lines } = recorderOn(async () => opened.promise);
    const first = record(Array.from({ length: 15_000 }, (_, index) => frame(`f-${index}`)));
    const message = toEventMessage(frame('same'));
    const more = Array.from({ length: 40_000 }, () => message);
    await expect(recorder.record(more)).rejects.toThrow(RecorderUnavailable);
    expect(lines).toEqual([['too many messages wait to be recorded', { waiting: 15_000 }]]);
    opened.resolve();
    expect(await first).toHaveLength(15_000);
    expect(await record([frame('f-0')])).toEqual(['unchanged']);
  }, 30_000);

  it('is settled when all of it is stored, also the latest', async () => {
    const { recorder, record } = recorderOn(async () => undefined);
    let answered = 0;
    for (const eventId of ['1', '2']) void record([frame(eventId)]).then(() => (answered += 1));
    expect(answered).toBe(0);
    await recorder.settled();
    expect(answered).toBe(2);
  });
});

describe('an outage', () => {
  it('is answered after bounded tries, and for those who wait behind after one', async () => {
    let transactions = 0;
    const { record, lines } = recorderOn(async (request, partition) => {
      if (request !== 'transaction' || !partition.includes('_')) return;
      transactions += 1;
      throw new StorageTrouble(0);
    });
    const settled = await Promise.allSettled(
      Array.from({ length: 1_000 }, async (_, index) => record([frame(`f-${index}`)])),
    );
    expect(settled.map(({ status }) => status)).toEqual(settled.map(() => 'rejected'));
    expect(transactions, '7 tries of a batch, each half of it, and one of the next').toBe(10);
    expect(lines[0]).toEqual(['events not recorded', { kind: 'StorageTrouble' }]);
  });
});

describe('a partition in trouble', () => {
  it('holds up no other day, also where as many as can be written at once are in trouble', async () => {
    const days = 20;
    const healthy = START + BigInt(days) * DAY;
    const name = dayOf(instantFrom(healthy));
    const stuck = Promise.withResolvers<void>();
    const { record } = recorderOn(async (request, partition) => {
      if (request === 'transaction' && partition.includes('_') && !partition.startsWith(name)) await stuck.promise;
    });
    const waiting = Array.from({ length: days }, async (_, day) => record([frame('f', START + BigInt(day) * DAY)]));
    expect(await record([frame('f', healthy)])).toEqual(['recorded']);
    stuck.resolve();
    expect((await Promise.all(waiting)).flat()).toEqual(Array.from({ length: days }, () => 'recorded'));
  });
});
