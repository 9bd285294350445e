import { describe, expect, it, vi } from 'vitest';

import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { KnownRows } from '../../../src/analytics/record/known-rows.ts';
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
const DATE = dayOf(instantFrom(START));

const frame = (eventId: string, ts = START, cameraId = 'a'): PlainMessage => ({
  cameraId,
  eventId,
  ts,
  time: ts,
  detections: { smoke: 1 },
});

/** What a storage does before it carries out a request, and perhaps after that. */
type Turn = (request: 'read' | 'transaction', partitionKey: string) => Promise<(() => void) | undefined | void>;

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
      const then = await turn('transaction', args[0]);
      const etags = await super.transact(...args);
      then?.();
      return etags;
    }
  }
  const storage = new TurnTable();
  const lines: unknown[] = [];
  const note = (event: string, fields?: object): void => void lines.push([event, fields]);
  const table = new Table(storage, { format: FORMAT, deadlineMs: 60_000 });
  const log = { info: note, warn: note, error: note };
  const recorder = new Recorder(table, new DayShards(table, 1), log, { pause: async () => undefined });
  const record = async (messages: readonly PlainMessage[]) => recorder.record(messages.map(toEventMessage));
  return { storage, recorder, record, lines };
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

/** The answer to a request does not arrive. */
const lost = (): never => {
  throw new StorageTrouble(0);
};

describe('a message whose transaction was never answered', () => {
  it('was recorded, and is said to be', async () => {
    let lose: (() => never) | undefined = lost;
    const { record } = recorderOn(async (request, partition) => {
      if (request !== 'transaction' || !partition.includes('_')) return undefined;
      const loses = lose;
      lose = undefined;
      return loses;
    });
    expect(await record([frame('f')])).toEqual(['recorded']);
    expect(lose).toBeUndefined();
  });

  it.each([
    ['applied, is recorded', true, ['recorded']],
    ['not applied, fails', false, true],
  ])('is looked up if its day has closed meanwhile: one that was %s', async (_, isApplied, outcome) => {
    const closes = Date.parse('2026-11-24T00:00:00Z');
    const clock = vi.spyOn(Date, 'now').mockReturnValue(closes - 1_000);
    try {
      let losing = false;
      const { storage, record } = recorderOn(async (request, partition) => {
        if (request !== 'transaction' || !partition.includes('_') || !losing) return undefined;
        clock.mockReturnValue(closes);
        return isApplied ? lost : lost();
      });
      await new DayShards(new Table(storage, { format: FORMAT }), 1).claim(DATE);
      const properties = { closes: new Date(closes).toISOString() };
      await storage.transact(DATE, [{ kind: 'merge', rowKey: 'shards', etag: '*', properties }]);
      await record([frame('early')]);
      losing = true;
      const answered = record([frame('late')]).catch((error: unknown) => error instanceof RecorderUnavailable);
      expect(await answered).toEqual(outcome);
      expect(await record([frame('later')])).toEqual([{ refused: CLOSED_DAY }]);
    } finally {
      clock.mockRestore();
    }
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

describe('the rows that a process remembers', () => {
  it('take bounded memory, those of all shards together: the least recently used ones go', () => {
    const rows = new KnownRows();
    const [early, late] = ['2026-11-21_00', '2026-11-22_00'].map((partition) => rows.ofShard(partition));
    const value = new Map([[0, new Uint8Array(1_048_576)]]);
    const keys = Array.from({ length: 100 }, (_, index) => `minute|${index}`);
    const known = () => [early, late].map((shard) => keys.filter((key) => shard?.get(key) !== undefined).length);
    for (const key of keys) early?.keep(key, { kind: 'samples', value, etag: '' });
    expect(known()).toEqual([100, 0]);
    for (const key of keys) late?.keep(key, { kind: 'samples', value, etag: '' });
    expect(known()).toEqual([75, 100]);
  });
});
