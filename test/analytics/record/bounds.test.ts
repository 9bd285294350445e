import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { MemoryStorage, MemoryTable, FAIR } from '../stripes/memory-storage.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

const frame = (eventId: string, ts = START, cameraId = 'a'): PlainMessage => ({
  cameraId,
  eventId,
  ts,
  time: ts,
  detections: { smoke: 1 },
});
const framesOf = (count: number, prefix: string, ts = START): readonly PlainMessage[] =>
  Array.from({ length: count }, (_, index) => frame(`${prefix}-${index}`, ts));

/** A gate that requests wait at until it is opened. */
const gate = (): { readonly passed: Promise<void>; readonly open: () => void } => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
};

const recorderOn = (turn: (request: string) => Promise<void>, storage = new MemoryStorage()): Recorder => {
  const table = new MemoryTable(storage, turn);
  return new Recorder(table, new DayShards(table, 1), SILENT);
};

describe('what waits to be recorded', () => {
  it("is counted from the moment it is taken, also while the day's first event claims it", async () => {
    const { passed, open } = gate();
    const recorder = recorderOn(async () => passed);
    const first = recorder.record(framesOf(15_000, 'a').map(toEventMessage));
    const more = Array.from({ length: 40_000 }, () => toEventMessage(frame('same')));
    await expect(recorder.record(more)).rejects.toThrow(RecorderUnavailable);
    open();
    expect(await first).toHaveLength(15_000);
    expect(await recorder.record([toEventMessage(frame('a-0'))])).toEqual(['unchanged']);
  }, 30_000);
});

describe('a partition in trouble', () => {
  it('holds up no other day, also where as many as can be written at once are in trouble', async () => {
    const days = 20;
    const stuck = gate();
    const storage = new MemoryStorage();
    const healthy = START + BigInt(days) * DAY;
    const name = dayOf(instantFrom(healthy));
    class Troubled extends MemoryTable {
      override async transact(...args: Parameters<MemoryTable['transact']>): Promise<readonly string[]> {
        if (args[0].includes('_') && !args[0].startsWith(name)) await stuck.passed;
        return super.transact(...args);
      }
    }
    const table = new Troubled(storage, async () => undefined);
    const recorder = new Recorder(table, new DayShards(table, 1), SILENT);
    const waiting = Array.from({ length: days }, async (_, day) =>
      recorder.record([toEventMessage(frame('f', START + BigInt(day) * DAY))]),
    );
    expect(await recorder.record([toEventMessage(frame('f', healthy))])).toEqual(['recorded']);
    stuck.open();
    expect((await Promise.all(waiting)).flat()).toEqual(Array.from({ length: days }, () => 'recorded'));
  });
});

describe('a storage that answers queries with empty pages', () => {
  it('is read by keys, in reading and in recording', async () => {
    const storage = new MemoryStorage();
    const [one, other] = [recorderOn(async () => undefined, storage), recorderOn(async () => undefined, storage)];
    for (const [index, recorder] of [one, other, one, other].entries()) {
      await recorder.record(framesOf(5, String(index)).map(toEventMessage));
    }
    const table = new MemoryTable(storage, async () => undefined, { ...FAIR, endsEarly: () => true });
    class EmptyTable extends MemoryTable {
      override async page(): ReturnType<MemoryTable['page']> {
        return { rows: [], continuation: 'next' };
      }
    }
    for (const odd of [table, new EmptyTable(storage, async () => undefined)]) {
      const shards = new DayShards(odd, 1);
      const period = { start: instantFrom(START), end: instantFrom(START + DAY - 1n) };
      const { tally } = await new Reader(odd, shards).activity(period);
      expect(tally.events).toBe(20);
      const again = framesOf(5, '0').map((told) => toEventMessage({ ...told, time: told.time + 1n, reviewed: true }));
      const outcomes = await new Recorder(odd, shards, SILENT).record(again);
      expect(new Set(outcomes)).toEqual(new Set([odd === table ? 'recorded' : 'unchanged']));
    }
  });
});
