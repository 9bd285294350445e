import assert from 'node:assert/strict';

import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { CountingStorage, daysOf, type CountingProcess } from './counting.ts';
import { Oracle, type PlainMessage } from './oracle.ts';
import { messages, questions, WHOLE_DAYS } from './stories.ts';

/** The expected state: the oracle and its messages. */
interface Model {
  readonly oracle: Oracle;
  readonly told: PlainMessage[];
}

/** The real state: one storage, and processes with memory of their own. */
interface Real {
  readonly storage: CountingStorage;
  readonly processes: CountingProcess[];
}

type Step = fc.AsyncCommand<Model, Real>;

const PROCESSES = 3;

const processOf = ({ processes }: Real, which: number): CountingProcess => {
  const process = processes[which];
  if (process === undefined) throw new RangeError('no such process');
  return process;
};

const tellModel = ({ oracle, told }: Model, batch: readonly PlainMessage[]): void => {
  told.push(...batch);
  for (const message of batch) oracle.tell(message);
};

/** A step that is always possible, with a name for the report of a failed run. */
const step = (name: string, run: (model: Model, real: Real) => Promise<void>): Step => ({
  check: () => true,
  run,
  toString: () => name,
});

const show = (batch: readonly PlainMessage[]): string =>
  JSON.stringify(batch, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

const whichOne = fc.nat(PROCESSES - 1);

const record = fc.tuple(whichOne, messages).map(([which, batch]) =>
  step(`process ${which} records ${show(batch)}`, async (model, real) => {
    tellModel(model, batch);
    await processOf(real, which).record(batch);
  }),
);

const recordTogether = fc.array(messages, { minLength: PROCESSES, maxLength: PROCESSES }).map((batches) =>
  step(`all record at once ${batches.map(show).join(' and ')}`, async (model, real) => {
    for (const batch of batches) tellModel(model, batch);
    await Promise.all(batches.map(async (batch, which) => processOf(real, which).record(batch)));
  }),
);

const recordAgain = fc.tuple(whichOne, fc.array(fc.nat(), { minLength: 1, maxLength: 20 })).map(([which, picks]) =>
  step(`process ${which} gets old messages again`, async ({ told }, real) => {
    const again = picks.flatMap((pick) => told[pick % Math.max(1, told.length)] ?? []);
    const outcomes = await processOf(real, which).record(again);
    assert.deepEqual(
      outcomes,
      again.map(() => 'unchanged'),
    );
  }),
);

const restart = fc.tuple(whichOne, fc.constantFrom(1, 2, 5)).map(([which, shards]) =>
  step(`process ${which} starts again with COUNTER_SHARDS ${shards}`, async (_model, { storage, processes }) => {
    processes[which] = storage.process(shards);
  }),
);

const ask = fc.tuple(whichOne, fc.oneof(questions, fc.constantFrom(...WHOLE_DAYS))).map(([which, question]) =>
  step(
    `process ${which} is asked for ${question.start} to ${question.end} of ${question.cameraId ?? 'all'}`,
    async (model, real) => {
      assert.deepEqual(await processOf(real, which).answer(question), model.oracle.answer(question));
    },
  ),
);

const audit = whichOne.map((which) =>
  step(`process ${which} audits`, async ({ told }, real) => {
    for (const day of daysOf(told)) assert.deepEqual(await processOf(real, which).differences(day), []);
  }),
);

it('processes that record, read, restart and audit in any order always agree with the oracle', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.commands([record, recordTogether, recordAgain, restart, ask, ask, audit], { maxCommands: 25 }),
      async (steps) => {
        const storage = new CountingStorage();
        const model: Model = { oracle: new Oracle(), told: [] };
        const real: Real = { storage, processes: [1, 1, 4].map((shards) => storage.process(shards)) };
        await fc.asyncModelRun(() => ({ model, real }), steps);
        for (const question of WHOLE_DAYS) {
          expect(await storage.process().answer(question)).toEqual(model.oracle.answer(question));
        }
      },
    ),
    { numRuns: 12, interruptAfterTimeLimit: 10_000 },
  );
}, 90_000);
