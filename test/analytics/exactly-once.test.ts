import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { CountingStorage, daysOf, type CountingProcess } from './counting.ts';
import { Oracle, type PlainMessage, type Question } from './oracle.ts';
import { messages, questions, WHOLE_DAYS } from './stories.ts';

/** Some messages, which of two processes records them, and whether it waits for the other process first. */
interface Delivery {
  readonly batch: readonly PlainMessage[];
  readonly to: 0 | 1;
  readonly waits: boolean;
}

interface Story {
  readonly deliveries: readonly Delivery[];
  readonly asked: readonly Question[];
  readonly shards: readonly [number, number];
}

/** Every message at least once, some repeated, in any order, in batches for two processes. */
const stories: fc.Arbitrary<Story> = messages
  .chain((told) =>
    fc
      .array(fc.constantFrom(...told), { maxLength: 20 })
      .chain((again) => fc.shuffledSubarray([...told, ...again], { minLength: told.length + again.length })),
  )
  .chain((delivered) =>
    fc.record({
      cuts: fc.array(
        fc.record({
          size: fc.integer({ min: 1, max: 15 }),
          to: fc.constantFrom(0 as const, 1 as const),
          waits: fc.boolean(),
        }),
        { minLength: delivered.length, maxLength: delivered.length },
      ),
      delivered: fc.constant(delivered),
      asked: fc.array(questions, { minLength: 6, maxLength: 12 }),
      shards: fc.tuple(fc.constantFrom(1, 1, 3, 16), fc.constantFrom(1, 2)),
    }),
  )
  .map(({ cuts, delivered, asked, shards }) => {
    const deliveries: Delivery[] = [];
    let at = 0;
    for (const { size, to, waits } of cuts) {
      if (at < delivered.length) deliveries.push({ batch: delivered.slice(at, at + size), to, waits });
      at += size;
    }
    return { deliveries, asked, shards };
  });

const tell = async (processes: readonly CountingProcess[], deliveries: readonly Delivery[]): Promise<void> => {
  const underWay: Promise<unknown>[] = [];
  for (const { batch, to, waits } of deliveries) {
    if (waits) await Promise.all(underWay.splice(0));
    underWay.push(processes[to]?.record(batch) ?? Promise.reject(new Error('no such process')));
  }
  await Promise.all(underWay);
};

describe('messages in any order, repeated, to any process', () => {
  it('count each event exactly once, with its newest facets, in every period, for all cameras and for each', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async ({ deliveries, asked, shards }) => {
        const storage = new CountingStorage();
        const processes = shards.map((count) => storage.process(count));
        const oracle = new Oracle();
        const told = deliveries.flatMap(({ batch }) => batch);
        for (const message of told) oracle.tell(message);

        await tell(processes, deliveries);

        const fresh = storage.process();
        for (const question of [...asked, ...WHOLE_DAYS]) {
          expect({ question, ...(await fresh.answer(question)) }).toEqual({ question, ...oracle.answer(question) });
        }
        for (const process of processes) {
          for (const question of asked) expect(await process.answer(question)).toEqual(oracle.answer(question));
        }
        for (const day of daysOf(told)) expect(await fresh.differences(day)).toEqual([]);
        for (const process of [...processes, fresh]) {
          expect(new Set(await process.record(told)), 'sent again, nothing changes').toEqual(new Set(['unchanged']));
        }
      }),
      { numRuns: 12, interruptAfterTimeLimit: 10_000 },
    );
  }, 90_000);
});
