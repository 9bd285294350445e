import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { randomFrom } from '../../../infra/local/demo/random.ts';
import { sharesOf } from './delivery.ts';
import { FaultProxy, NO_FAULT } from './fault-proxy.ts';
import { countOf, Ledger } from './ledger.ts';
import { contendedMessages } from './messages.ts';
import { Sender } from './sender.ts';

const CLOSER_PROCESS = fileURLToPath(new URL('closer-process.ts', import.meta.url));

/** The day is closed after so many batches, while most are still to come. */
const BATCHES_BEFORE = 15;

const startCloser = (connectionString: string, table: string): ChildProcess =>
  spawn(process.execPath, ['--import', import.meta.resolve('tsx'), CLOSER_PROCESS, connectionString, table], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });

const endOf = async (closer: ChildProcess): Promise<number | 'SIGKILL'> => {
  await once(closer, 'exit');
  return closer.signalCode === 'SIGKILL' ? 'SIGKILL' : (closer.exitCode ?? -1);
};

/** Holds whoever passes until it is opened. */
class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  /** Somebody waits at it. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  async pass(): Promise<void> {
    this.#reached.resolve();
    await this.#opened.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}

describe('closing a day into which another process records at the same moment', { timeout: 60_000 }, () => {
  let sender: Sender;
  let proxy: FaultProxy;
  let spare: FaultProxy;
  const closers: ChildProcess[] = [];

  beforeEach(async () => {
    sender = await Sender.start();
    proxy = await FaultProxy.start(inject('tablesConnectionString'));
    spare = await FaultProxy.start(inject('tablesConnectionString'));
  });
  afterEach(async () => {
    for (const closer of closers.splice(0)) closer.kill('SIGKILL');
    await sender.stop();
    await proxy.stop();
    await spare.stop();
  });

  // What closing writes: the manifest, the fence, the totals, and then it deletes 100 event rows a transaction.
  it.each([
    { step: 'the manifest', writes: 1, last: 'applied' },
    { step: 'the fence', writes: 2, last: 'lost' },
    { step: 'the fence', writes: 2, last: 'applied' },
    { step: 'the totals', writes: 3, last: 'lost' },
    { step: 'the totals', writes: 3, last: 'applied' },
    { step: 'the second 100 event rows', writes: 5, last: 'applied' },
    { step: 'the last row, of the index of open days', writes: 'last', last: 'lost' },
  ] as const)(
    'by a process that is killed as it writes $step, which is $last, goes on where it was: all that was recorded is counted, and nothing that was refused',
    async ({ writes, last }) => {
      const random = randomFrom(`${writes} ${last}`);
      const messages = contendedMessages(random, { messages: 4_000, events: 2_400, cameras: 12 });
      const connectionString = inject('tablesConnectionString');
      const ledger = new Ledger(connectionString);
      const [share] = sharesOf(random, messages, 1, { connectionString, table: ledger.table });
      if (share === undefined) throw new Error('nobody sends');

      // Both closers are started ahead and held at their first request, so that nothing waits for a process to start.
      const [closes, goesOn] = [new Gate(), new Gate()];
      let written = 0;
      let victim: ChildProcess | undefined;
      proxy.rule = async ({ isTransaction, body }) => {
        await closes.pass();
        if (!isTransaction) return NO_FAULT;
        written += 1;
        const isFatal = writes === 'last' ? body.includes("PartitionKey='open-days'") : written === writes;
        if (!isFatal) return NO_FAULT;
        victim?.kill('SIGKILL');
        return last === 'applied' ? { kind: 'answer lost' } : { kind: 'connection reset' };
      };
      spare.rule = async () => {
        await goesOn.pass();
        return NO_FAULT;
      };
      victim = startCloser(proxy.connectionString, ledger.table);
      const next = startCloser(spare.connectionString, ledger.table);
      closers.push(victim, next);
      const [killed, closed] = [endOf(victim), endOf(next)];
      await Promise.all([closes.reached, goesOn.reached]);

      let batches = 0;
      const sending = sender.send(share.job, () => {
        batches += 1;
        if (batches === BATCHES_BEFORE) closes.open();
      });
      expect(await killed).toBe('SIGKILL');
      await proxy.quiet();
      goesOn.open();
      expect(await closed).toBe(0);
      const sent = await sending;

      expect(sent.ended).toBe('done');
      expect(sent.acknowledged.size, 'every batch has an answer').toBe(share.batches.length);
      const outcomes = share.batches.flatMap((batch, at) =>
        batch.map((message, index) => ({ message, outcome: sent.acknowledged.get(at)?.[index] })),
      );
      const counted = outcomes.filter(({ outcome }) => typeof outcome === 'string').map(({ message }) => message);
      expect(counted.length, 'some came in time').toBeGreaterThan(0);
      expect(counted.length, 'some came too late').toBeLessThan(outcomes.length);
      const { answers, events, differences } = await ledger.count();
      expect(answers).toEqual(countOf(counted).answers);
      expect(differences).toEqual([]);
      // Nothing slipped past the close: an event row that was written after the deletion would still be there.
      expect(events).toBe(0);
      expect(await ledger.isOpen()).toBe(false);
    },
  );
});
