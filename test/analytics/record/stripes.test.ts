import { expect, it } from 'vitest';

import { chooseStripe } from '../../../src/analytics/record/shard-writer.ts';
import { DAY_KEY, SEALED_KEY } from '../../../src/analytics/rows/keys.ts';
import { inStripe, MAX_STRIPES } from '../../../src/analytics/rows/stripes.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { all, CountingProcess, frame as frameOf, MemoryStorage, SHARD, START, WHOLE_DAY } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';

const frame = (event: number, time = 1): PlainMessage =>
  frameOf('ridge-1', `f${event}`, START + BigInt(event % 130) * 1_000_000n, {
    time: START + BigInt(time),
    detections: { smoke: time },
  });

it.each<readonly [string, readonly (number | undefined)[], number, number]>([
  ['a new one, if all are written', [100_000, 99_000], 0, 2],
  ['an idle one', [100_000, 80_000, 99_000], 0, 1],
  ['one of the idle ones, by chance', [100_000, 80_000, 70_000], 0.9, 2],
  ['an idle one before one that lost its row', [100_000, undefined, 70_000], 0, 2],
  ['one that lost its row before a new one', [100_000, undefined, 99_000], 0, 1],
  ['never its own', [10_000, 100_000], 0, 2],
  ['another one, if there can be no more', Array.from({ length: MAX_STRIPES }, () => 1), 0, 1],
])('the stripe of a writer that met another one is %s', (_, written, random, expected) => {
  expect(chooseStripe(written, 0, random)).toBe(expected);
});

it('a camera gets no 65th category, also if the others are counted in another stripe', async () => {
  const storage = new MemoryStorage();
  const processes = [storage.process(), storage.process()];
  // The first one meets the second one with its second frame, and moves.
  for (const index of [0, 1, 2]) await processes[index % 2]?.record([frame(index)]);
  expect(storage.connection.rows(SHARD).map(({ rowKey }) => rowKey)).toContain(inStripe(DAY_KEY, 1));
  const detections = Object.fromEntries(all(63).map((index) => [`c${index}`, 1]));
  await processes[0]?.record([{ ...frame(4), detections }]);
  const outcomes = await storage.process().record([{ ...frame(5), detections: { more: 1 } }, frame(6)]);
  expect(outcomes).toEqual([{ code: 'too_many', refused: expect.stringContaining('64 categories') }, 'recorded']);
});

it('the first stripe is never made up beside others: nothing is counted where no reader would find it', async () => {
  const storage = new MemoryStorage();
  const processes = [storage.process(), storage.process()];
  for (const index of [0, 1, 2]) await processes[index % 2]?.record([frame(index)]);
  await storage.connection.transact(SHARD, [{ kind: 'delete', rowKey: DAY_KEY }]);
  const keysOf = () => storage.connection.rows(SHARD).filter(({ rowKey }) => rowKey === DAY_KEY);
  for (const process of [storage.process(), processes[1]]) {
    await expect(process?.record([frame(3)])).rejects.toThrow(DamagedRow);
    await expect(process?.answer(WHOLE_DAY)).rejects.toThrow(DamagedRow);
  }
  // Nor if it was the only one.
  await storage.connection.transact(SHARD, [{ kind: 'delete', rowKey: inStripe(DAY_KEY, 1) }]);
  await expect(storage.process().record([frame(3)])).rejects.toThrow(DamagedRow);
  await expect(storage.process().answer(WHOLE_DAY)).rejects.toThrow(DamagedRow);
  expect(keysOf()).toEqual([]);
});

it('more instances than a shard has stripes share them, and every event is counted once', async () => {
  const { connection } = new MemoryStorage();
  const told: PlainMessage[] = [];
  const instances = all(MAX_STRIPES + 6).map(
    () => new CountingProcess(connection, 1, { pause: async () => undefined }),
  );
  const record = async (index: number, messages: readonly PlainMessage[]): Promise<void> => {
    told.push(...messages);
    expect(await instances[index]?.record(messages)).toEqual(messages.map(() => expect.any(String)));
  };
  // Each finds another one in the first stripe with its second request.
  for (const round of [0, 1]) {
    for (const index of instances.keys()) await record(index, [frame(1_000 * round + index)]);
  }
  for (const key of [DAY_KEY, SEALED_KEY]) {
    const row = connection.rows(SHARD).find(({ rowKey }) => rowKey === key);
    expect(row?.properties['stripes']).toBe(MAX_STRIPES);
  }
  await Promise.all(
    Array.from(instances.keys(), async (index) =>
      record(index, [frame(index, index + 2), frame(2_000 + index), frame(0, 1_000 + index)]),
    ),
  );
  const process = new CountingProcess(connection);
  const { is, should } = await process.answered(told);
  expect(is).toEqual(should);
});
