import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import { chooseStripe, type StripeTime } from '../../../src/analytics/record/own-stripe.ts';
import { dayPartition, OPEN_DAYS_PARTITION, shardPartition, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { CountingStorage, type CountingProcess } from '../counting.ts';
import { damage } from '../damage.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const DATE = dayOf(instantFrom(START));
const PARTITION = shardPartition(DATE, 0);
const WHOLE_DAY = { start: START, end: START + DAY - 1n };

const frame = (eventId: string, time = 1n, category = 'smoke'): PlainMessage => ({
  cameraId: 'ridge-1',
  eventId,
  ts: START + 1_000_000n,
  time: START + time,
  detections: { [category]: 1 },
});

const totalsOf = async (storage: CountingStorage): Promise<readonly string[]> => {
  const keys: string[] = [];
  for await (const { partitionKey, rowKey = '' } of storage.client().listEntities()) {
    if (partitionKey === PARTITION && rowKey.startsWith(TOTAL_KEY)) keys.push(rowKey);
  }
  return keys;
};

/** Two processes that record in turn: each finds the other in its stripe once. */
const inTurn = async (
  storage: CountingStorage,
  frames: readonly PlainMessage[],
): Promise<readonly CountingProcess[]> => {
  const processes = [storage.process(), storage.process()];
  for (const [index, one] of frames.entries()) await processes[index % 2]?.record([one]);
  return processes;
};

describe('two instances that record one shard', () => {
  it('have a stripe each, and every count is the sum', async () => {
    const storage = new CountingStorage();
    const oracle = new Oracle();
    const frames = Array.from({ length: 12 }, (_, index) => frame(`f-${index % 8}`, BigInt(index), `c${index % 3}`));
    for (const one of frames) oracle.tell(one);
    const [first] = await inTurn(storage, frames);
    expect(await totalsOf(storage)).toEqual(['total', 'total 01']);
    for (const question of [
      WHOLE_DAY,
      { ...WHOLE_DAY, cameraId: 'ridge-1' },
      { start: START, end: START + 1_500_000n },
    ]) {
      expect(await first?.answer(question)).toEqual(oracle.answer(question));
      expect(await storage.process().answer(question)).toEqual(oracle.answer(question));
    }
    expect(await first?.differences(DATE)).toEqual([]);
  });

  it('refuse category 65 of a camera also where the others are counted in another stripe', async () => {
    const storage = new CountingStorage();
    const [, second] = await inTurn(storage, [frame('a'), frame('b'), frame('a', 2n), frame('b', 2n)]);
    const detections = Object.fromEntries(Array.from({ length: 63 }, (_, index) => [`c${index}`, 1]));
    await second?.record([{ ...frame('c'), detections }]);
    const outcomes = await storage.process().record([frame('d', 1n, 'one-more'), frame('e', 1n, 'smoke')]);
    expect(outcomes).toEqual([{ refused: expect.stringContaining('64 categories') }, 'recorded']);
  });
});

const at = (stripe: number, written: number): StripeTime => ({ stripe, written });

describe('the stripe of a writer that met another one', () => {
  it.each([
    ['a new one, where all are written', [at(0, 100_000), at(1, 99_000)], 2, 0, 2],
    ['an idle one', [at(0, 100_000), at(1, 80_000), at(2, 99_000)], 3, 0, 1],
    ['one of the idle ones, by chance', [at(0, 100_000), at(1, 80_000), at(2, 70_000)], 3, 0.9, 2],
    ['never its own', [at(0, 10_000), at(1, 100_000)], 2, 0, 2],
    ['another one, where there can be no more', Array.from({ length: 64 }, (_, stripe) => at(stripe, 1)), 64, 0, 1],
  ])('is %s', (_, times, stripes, random, expected) => {
    expect(chooseStripe(times, 0, stripes, random)).toBe(expected);
  });
});

const closing = (ms: number): string => new Date(Date.now() + ms).toISOString();

describe('a closed day', () => {
  const CLOSED = { refused: expect.stringContaining('closed') };

  it('refuses everything from the moment in its manifest on, also what an instance remembers', async () => {
    const storage = new CountingStorage();
    const [before, after] = [storage.process(), storage.process()];
    await before.record([frame('a')]);
    await damage(storage, dayPartition(DATE), 'shards', { closes: closing(60_000) });
    expect(await after.record([frame('b'), frame('a')])).toEqual(['recorded', 'unchanged']);
    await damage(storage, dayPartition(DATE), 'shards', { closes: closing(-1) });
    expect(await storage.process().record([frame('c'), frame('a')])).toEqual([CLOSED, CLOSED]);
    expect(await after.record([frame('d')]), 'the manifest was read less than a minute ago').toEqual(['recorded']);
  });

  it('is found by the index of open days, which has every day', async () => {
    const storage = new CountingStorage();
    await storage.process().record([frame('a')]);
    expect(await storage.process().table.get(OPEN_DAYS_PARTITION, DATE)).toBeDefined();
  });
});

describe('a row of a later format', () => {
  it('is an error that says so, in recording, reading and the audit', async () => {
    const storage = new CountingStorage();
    await storage.process().record([frame('a')]);
    await damage(storage, PARTITION, TOTAL_KEY, { format: 99 });
    const process = storage.process();
    await expect(process.record([frame('b')])).rejects.toThrow(LaterFormat);
    await expect(process.answer(WHOLE_DAY)).rejects.toThrow(LaterFormat);
    await expect(process.differences(DATE)).rejects.toThrow(LaterFormat);
  });
});
