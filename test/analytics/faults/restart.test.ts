import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { startAzurite, type Azurite } from '../../../infra/local/azurite.ts';
import { randomFrom } from '../../../infra/local/demo/random.ts';
import { sharesOf, sendAll } from './delivery.ts';
import { FaultProxy } from './fault-proxy.ts';
import { countOf, Ledger } from './ledger.ts';
import { contendedMessages } from './messages.ts';
import { Sender } from './sender.ts';

describe('a storage that stops and comes back with its data', { timeout: 60_000 }, () => {
  let dataDir = '';
  let azurite: Azurite;
  let proxy: FaultProxy;
  let senders: readonly Sender[] = [];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
    azurite = await startAzurite({ dataDir });
    proxy = await FaultProxy.start(azurite.connectionString);
    senders = await Promise.all(Array.from({ length: 2 }, async () => Sender.start()));
  });
  afterEach(async () => {
    await Promise.all(senders.map(async (sender) => sender.stop()));
    await proxy.stop();
    await azurite.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('while messages are sent has all of them counted once', async () => {
    const random = randomFrom('restart');
    const messages = contendedMessages(random, { messages: 600, events: 200, cameras: 12 });
    const table = new Ledger(azurite.connectionString).table;
    const shares = sharesOf(random, messages, senders.length, { connectionString: proxy.connectionString, table });

    let batches = 0;
    let restarted: Promise<void> | undefined;
    const restart = async (): Promise<void> => {
      await azurite.stop();
      azurite = await startAzurite({ dataDir });
      proxy.retarget(azurite.connectionString);
    };
    const acknowledged = await sendAll(senders, shares, () => {
      batches += 1;
      if (batches === 5) restarted = restart();
    });
    await restarted;

    expect(restarted).toBeDefined();
    expect(new Set(acknowledged).size).toBe(messages.length);
    const ledger = new Ledger(azurite.connectionString, table);
    expect(await ledger.count()).toEqual(countOf(messages));
    expect(await ledger.stripes(), 'the processes write to stripes of their own').toBeGreaterThan(1);
  });
});
