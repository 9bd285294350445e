import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { randomFrom } from '../../../infra/local/demo/random.ts';
import { acknowledgedOf, sharesOf, sendAll } from './delivery.ts';
import { FaultProxy, NO_FAULT } from './fault-proxy.ts';
import { countOf, Ledger } from './ledger.ts';
import { contendedMessages } from './messages.ts';
import { Sender } from './sender.ts';

/** The process is killed at its next transaction after so many of its batches were acknowledged. */
const BATCHES_BEFORE = 3;

describe('a process that is killed in the middle of its messages', { timeout: 60_000 }, () => {
  let senders: Sender[] = [];
  let proxy: FaultProxy;

  beforeEach(async () => {
    senders = await Promise.all(Array.from({ length: 2 }, async () => Sender.start()));
    proxy = await FaultProxy.start(inject('tablesConnectionString'));
  });
  afterEach(async () => {
    await Promise.all(senders.map(async (sender) => sender.stop()));
    await proxy.stop();
  });

  it.each(['applied', 'lost'] as const)(
    'loses nothing that was acknowledged and leaves nothing half done, where its last transaction is %s',
    async (then) => {
      const random = randomFrom(then);
      const messages = contendedMessages(random, { messages: 600, events: 200, cameras: 12 });
      const [victim, ...others] = senders;
      const ledger = new Ledger(inject('tablesConnectionString'));
      const way = { connectionString: inject('tablesConnectionString'), table: ledger.table };
      const shares = sharesOf(random, messages, senders.length, way);
      const [fatal, ...rest] = shares;
      if (victim === undefined || fatal === undefined) throw new Error('nobody to kill');

      let batches = 0;
      proxy.rule = ({ isTransaction }) => {
        if (!isTransaction || batches < BATCHES_BEFORE) return NO_FAULT;
        victim.kill();
        return then === 'applied' ? { kind: 'answer lost' } : { kind: 'connection reset' };
      };
      const [sent, acknowledged] = await Promise.all([
        victim.send({ ...fatal.job, connectionString: proxy.connectionString }, () => {
          batches += 1;
        }),
        sendAll(others, rest),
      ]);
      await proxy.quiet();

      // Some of its messages were acknowledged, others were not.
      const acknowledgedBefore = acknowledgedOf(fatal, sent);
      expect(sent.ended).toBe('killed');
      expect(sent.acknowledged.size).toBeGreaterThan(0);
      expect(sent.acknowledged.size).toBeLessThan(fatal.batches.length);
      expect(await ledger.lost([...acknowledged, ...acknowledgedBefore])).toEqual([]);
      expect((await ledger.count()).differences).toEqual([]);
      expect(await ledger.stripes(), 'the processes write to stripes of their own').toBeGreaterThan(1);

      await sendAll(others, [fatal]);
      expect(await ledger.count()).toEqual(countOf(messages));
    },
  );
});
