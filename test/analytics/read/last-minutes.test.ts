import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { packBitset } from '../../../src/analytics/rows/bitset.ts';
import { DAY_KEY } from '../../../src/analytics/rows/keys.ts';
import { inStripe } from '../../../src/analytics/rows/stripes.ts';
import { InterposedTable } from '../../storage/interposed-table.ts';
import { all, CountingProcess, damagedRowOf, DATE, frame, MemoryStorage, SHARD, START } from '../counting.ts';
import { DAY } from '../oracle.ts';

const [SECOND, MINUTE] = [1_000_000n, 60_000_000n];

it('cameras last sent an event in the minute that their events say, whatever instance counted them in whichever shard', async () => {
  const events = fc.array(
    fc.record({
      camera: fc.integer({ min: 0, max: 5 }),
      second: fc.integer({ min: 0, max: 3 * 86_400 - 1 }),
      instance: fc.integer({ min: 0, max: 1 }),
    }),
    { minLength: 1, maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(
      events,
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 3 }),
      async (sent, shards, days) => {
        const storage = new MemoryStorage();
        const instances = [storage.process(shards), storage.process(shards)];
        const last = new Map<string, bigint>();
        for (const [index, { camera, second, instance }] of sent.entries()) {
          const ts = START - 2n * DAY + BigInt(second) * SECOND;
          // Both at the same time: they write into stripes of their own.
          await Promise.all([
            instances[instance]?.record([frame(`ridge-${camera}`, `f-${index}`, ts)]),
            instances[1 - instance]?.record([frame('other', `o-${index}`, ts)]),
          ]);
          if (ts < START - BigInt(days - 1) * DAY) continue;
          for (const id of [`ridge-${camera}`, 'other']) {
            const minute = ts - (ts % MINUTE);
            if (minute >= (last.get(id) ?? minute)) last.set(id, minute);
          }
        }
        const { reader } = storage.process();
        expect(await reader.lastMinutes(DATE, days)).toEqual(last);
        const one = await reader.lastMinutes(DATE, days, new Set(['ridge-0']));
        expect([...one]).toEqual([...last].filter(([id]) => id === 'ridge-0').map(([id, at]) => [id, instantFrom(at)]));
      },
    ),
    { numRuns: 40 },
  );
});

it('the last minutes of cameras that send now cost a few reads by key, however many there are and however many days are asked about', async () => {
  const storage = new InterposedTable();
  const [first, now] = [START, START + 700n * MINUTE];
  await new CountingProcess(storage).record(
    [first, now].flatMap((ts) => all(300).map((index) => frame(`ridge-${index}`, `f-${ts}-${index}`, ts))),
  );
  const requests: string[] = [];
  storage.turn = async ({ kind }) => void requests.push(kind);
  const found = await new CountingProcess(storage).reader.lastMinutes(
    DATE,
    31,
    new Set(all(300).map((index) => `ridge-${index}`)),
  );
  expect(found.size).toBe(300);
  // The row of the day, the stripe's row; the row of the one hour, and the stripe's row again.
  expect(requests.filter((kind) => kind !== 'create')).toEqual(all(4).map(() => 'get'));
});

it.each([
  ['in the same stripe', 0],
  ['in a second stripe', 1],
])('what is counted between the two readings, %s, loses no camera and mistakes none', async (_, stripe) => {
  const storage = new InterposedTable();
  const counting = new CountingProcess(storage);
  await counting.record([frame('ridge-0', 'f-0'), frame('ridge-1', 'f-1', START + MINUTE)]);
  // An instance that meets another one in its stripe moves to a new one.
  if (stripe === 1) await new CountingProcess(storage).record([frame('ridge-0', 'other')]);
  const { reader } = new CountingProcess(storage);
  let isBetween = false;
  storage.turn = async ({ kind, rowKeys }) => {
    if (isBetween || kind !== 'get' || rowKeys[0] !== 'hour|00') return;
    isBetween = true;
    // Another order than in the list of the first stripe.
    await counting.record([
      frame('new', 'f-2', START + 4n * MINUTE),
      frame('ridge-1', 'f-3', START + 3n * MINUTE),
      frame('ridge-0', 'f-4', START + 2n * MINUTE),
    ]);
  };
  const lastMinutes = async (): Promise<unknown> => Object.fromEntries(await reader.lastMinutes(DATE, 1));
  const [before, now] = [
    { 'ridge-0': START, 'ridge-1': START + MINUTE },
    { 'ridge-0': START + 2n * MINUTE, 'ridge-1': START + 3n * MINUTE },
  ];
  expect(await lastMinutes()).toEqual(stripe === 0 ? now : before);
  expect(isBetween).toBe(true);
  expect(storage.memory.rows(SHARD).some(({ rowKey }) => rowKey === inStripe(DAY_KEY, 1))).toBe(stripe === 1);
  expect(await lastMinutes()).toEqual({ ...now, new: START + 4n * MINUTE });
});

it('an hour with a camera that the list lacks is damage, and the row is named', async () => {
  const storage = new InterposedTable();
  await new CountingProcess(storage).record([frame('ridge-0', 'f-0')]);
  const { reader } = new CountingProcess(storage);
  expect((await reader.lastMinutes(DATE, 1)).size).toBe(1);
  const properties = { active_00: packBitset(Uint8Array.of(0b11)) };
  await storage.transact(SHARD, [{ kind: 'merge', rowKey: DAY_KEY, etag: '*', properties }]);
  expect(await damagedRowOf(reader.lastMinutes(DATE, 1))).toEqual([SHARD, DAY_KEY]);
});
