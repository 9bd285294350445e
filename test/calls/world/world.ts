import { vi } from 'vitest';

import type { NotificationView } from '../../../src/calls/notifications.ts';
import { MemoryRows } from '../../../src/calls/store/memory-rows.ts';
import { Conditions } from './conditions.ts';
import { deliverTo } from './event-delivery.ts';
import { Instances } from './instances.ts';
import type { Mode } from './modes.ts';
import { TelephoneNetwork } from './network.ts';
import { brokenPromises } from './promises.ts';
import { Chance } from './random.ts';
import { sendRequests, type SentRequest } from './senders.ts';
import { Story } from './story.ts';
import { UnreliableLine } from './unreliable-line.ts';
import { UnreliableRows } from './unreliable-rows.ts';

/** What playing a seed came to. */
export interface Played {
  /** Empty where everything held. */
  readonly broken: readonly string[];
  readonly story: string;
}

// Two hours before the day ends: late calls of some seeds are of the next day.
const BEGINNING = '2026-11-21T22:00:00Z';
const WITH_FAULTS_MS = 15 * 60_000;
const CALM_MS = 50 * 60_000;
const READING_MS = 20_000;

/**
 * Plays one seed in virtual time: several instances of the service, a telephone network, senders, and the faults of the mode; then a calm
 * time without faults, after which everything must have come to its end. The test file must replace `node:timers/promises` and the random
 * ids of `node:crypto` by what follows the virtual time and `Math.random`.
 */
export const play = async (seed: number, mode: Mode): Promise<Played> => {
  vi.useFakeTimers({ now: Date.parse(BEGINNING) });
  vi.spyOn(Math, 'random').mockImplementation(new Chance(`the service, ${seed}`).next);
  try {
    return await playInVirtualTime(new Chance(`the world, ${seed}`), mode);
  } finally {
    vi.useRealTimers();
    vi.restoreAllMocks();
  }
};

const playInVirtualTime = async (chance: Chance, mode: Mode): Promise<Played> => {
  const story = new Story();
  const conditions = new Conditions(mode, chance);
  const table = new MemoryRows();
  let rowRequests = 0;
  let lineRequests = 0;
  const instances = new Instances(mode, chance, story, (life) => ({
    rows: new UnreliableRows({ table, life, conditions, chance, onRequest: () => (rowRequests += 1) }),
    line: new UnreliableLine({ network, life, conditions, chance, onRequest: () => (lineRequests += 1) }),
  }));
  const network = new TelephoneNetwork(chance, story, deliverTo(instances, conditions, chance, story));
  instances.start();
  const sent = sendRequests(instances, chance, story);

  await vi.advanceTimersByTimeAsync(WITH_FAULTS_MS);
  conditions.calmDown();
  story.tell('calm');
  await vi.advanceTimersByTimeAsync(CALM_MS);

  const requests = [];
  for (const one of sent) requests.push({ sent: one, view: await viewOf(one, instances) });
  const broken = brokenPromises({
    mode,
    requests,
    calls: network.calls,
    rows: await table.list('notifications', { from: '', to: '~' }),
    logs: instances.logs,
    rowRequests,
    lineRequests,
    firstDay: BEGINNING.slice(0, 10),
    now: Date.now(),
  });
  return { broken, story: story.text };
};

/** The notification of a request. It may be in the memory of one instance only, so all are asked. */
const viewOf = async ({ answer }: SentRequest, instances: Instances): Promise<NotificationView | undefined> => {
  if (answer === 'none yet' || answer === 'rejected') return undefined;
  const asked = Promise.all(instances.living.map(({ phone, log }) => phone.notifications.read(answer, log)));
  await vi.advanceTimersByTimeAsync(READING_MS);
  return (await asked).find((view) => view !== undefined);
};
