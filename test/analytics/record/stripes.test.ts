import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { chooseStripe } from '../../../src/analytics/record/own-stripe.ts';
import { FENCE_KEY, shardPartition, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { COMMIT_NUMBER, inStripe, MAX_STRIPES } from '../../../src/analytics/rows/stripes.ts';
import { emptyTotalProperties } from '../../../src/analytics/rows/total-row.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { CountingProcess, MemoryStorage } from '../counting.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const DATE = dayOf(instantFrom(START));
const PARTITION = shardPartition(DATE, 0);
const WHOLE_DAY = { start: START, end: START + DAY - 1n };

const frame = (event: number, time = 1n, category = 'smoke'): PlainMessage => ({
  cameraId: 'ridge-1',
  eventId: `f${event}`,
  ts: START + BigInt(event % 130) * 1_000_000n,
  time: START + time,
  detections: { [category]: Number(time) },
});

describe('the stripe of a writer that met another one', () => {
  it.each<readonly [string, readonly (number | undefined)[], number, number]>([
    ['a new one, where all are written', [100_000, 99_000], 0, 2],
    ['an idle one', [100_000, 80_000, 99_000], 0, 1],
    ['one of the idle ones, by chance', [100_000, 80_000, 70_000], 0.9, 2],
    ['none that has no row', [100_000, undefined, 70_000], 0, 2],
    ['never its own', [10_000, 100_000], 0, 2],
    ['another one, where there can be no more', Array.from({ length: MAX_STRIPES }, () => 1), 0, 1],
  ])('is %s', (_, written, random, expected) => {
    expect(chooseStripe(written, 0, random)).toBe(expected);
  });
});

describe('a camera', () => {
  it('gets no 65th category, also if the others are counted in another stripe', async () => {
    const storage = new MemoryStorage();
    const processes = [storage.process(), storage.process()];
    // The first one meets the second one with its second frame, and moves.
    for (const index of [0, 1, 2]) await processes[index % 2]?.record([frame(index)]);
    expect(storage.connection.rows(PARTITION).map(({ rowKey }) => rowKey)).toContain(inStripe(TOTAL_KEY, 1));
    const detections = Object.fromEntries(Array.from({ length: 63 }, (_, index) => [`c${index}`, 1]));
    await processes[0]?.record([{ ...frame(4), detections }]);
    const outcomes = await storage.process().record([frame(5, 1n, 'one-more'), frame(6)]);
    expect(outcomes).toEqual([{ refused: expect.stringContaining('64 categories') }, 'recorded']);
  });
});

describe('a row of a stripe that the shard does not have', () => {
  it('is damage: nothing is counted where no reader would find it', async () => {
    const storage = new MemoryStorage();
    const [moving, staying] = [storage.process(), storage.process()];
    await moving.record([frame(0)]);
    await staying.record([frame(1)]);
    const properties = { ...emptyTotalProperties(), [COMMIT_NUMBER]: 1 };
    await storage.connection.transact(PARTITION, [{ kind: 'insert', rowKey: inStripe(TOTAL_KEY, 1), properties }]);
    await expect(moving.record([frame(2)])).rejects.toThrow(DamagedRow);
    await staying.record([frame(3)]);
    expect(await staying.answer(WHOLE_DAY)).toMatchObject({ total_events: 3 });
  });
});

describe('more instances than a shard has stripes', () => {
  it('share them, and every event is counted once', async () => {
    const { connection } = new MemoryStorage();
    const oracle = new Oracle();
    const instances = Array.from(
      { length: MAX_STRIPES + 6 },
      () => new CountingProcess(connection, 1, { pause: async () => undefined }),
    );
    const record = async (index: number, messages: readonly PlainMessage[]): Promise<void> => {
      for (const one of messages) oracle.tell(one);
      expect(await instances[index]?.record(messages)).toEqual(messages.map(() => expect.any(String)));
    };
    // Each finds another one in the first stripe with its second request.
    for (const round of [0, 1]) {
      for (const index of instances.keys()) await record(index, [frame(1_000 * round + index)]);
    }
    const fence = connection.rows(PARTITION).find(({ rowKey }) => rowKey === FENCE_KEY);
    expect(fence?.properties['stripes']).toBe(MAX_STRIPES);
    await Promise.all(
      Array.from(instances.keys(), async (index) =>
        record(index, [frame(index, BigInt(index + 2)), frame(2_000 + index), frame(0, 1_000n + BigInt(index))]),
      ),
    );
    expect(await instances[0]?.answer(WHOLE_DAY)).toEqual(oracle.answer(WHOLE_DAY));
    expect(await instances[0]?.differences(DATE)).toEqual([]);
  });
});
