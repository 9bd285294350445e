import { randomUUID } from 'node:crypto';

import { beforeEach, expect, it, vi } from 'vitest';

import type { Clock } from '../../../src/calls/model/clock.ts';
import type { OutcomeTopic } from '../../../src/calls/model/outcomes.ts';
import type { PhoneLine } from '../../../src/calls/model/phone-line.ts';
import { Cases } from '../../../src/calls/run/cases.ts';
import { Publisher } from '../../../src/calls/run/publisher.ts';
import { stoppedNotification } from '../../../src/calls/state/notification.ts';
import { withNews } from '../../../src/calls/state/step.ts';
import { NotificationStore, type StoredCase } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { newCase, POLICY, START } from '../new-case.ts';

let table: Table;
beforeEach(() => {
  table = new Table(new MemoryTable(), { format: CALLS_FORMAT });
});

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const unasked = async () => Promise.reject(new Error('nobody is called'));
const line: PhoneLine = { name: 'acs', isIdempotent: true, call: unasked, hangUp: unasked, check: unasked };
const clock: Clock = {
  now: () => START,
  after: (_, run) => {
    const immediate = setImmediate(run);
    return () => clearImmediate(immediate);
  },
};
const storeOf = () => new NotificationStore(table, randomUUID, () => undefined);

/** A process that publishes. */
const publisherOf = (publish: OutcomeTopic['publish']): Publisher => {
  const parts = { line, store: storeOf(), policy: POLICY, clock, log, random: Math.random, newId: randomUUID };
  const context = { ...parts, destinations: [] };
  return new Publisher(context, new Cases(context, () => undefined), 'webhook', { publish });
};

/** Notifications that were stopped, which is not published. */
const untold = async (count: number): Promise<readonly StoredCase[]> => {
  const store = storeOf();
  for (let made = 0; made < count; made += 1) {
    const known = newCase(START - made);
    const stopped = withNews(known, stoppedNotification(known, START), ['webhook'], START);
    await store.create(stopped, undefined, undefined, START);
  }
  return store.untold(START);
};

it('one process publishes, though others have found the same entries', async () => {
  const known = await untold(1);
  const publish = vi.fn(async () => Promise.resolve());
  const publishers = [publisherOf(publish), publisherOf(publish), publisherOf(publish)];
  for (const publisher of publishers) publisher.tell(known, log);
  await Promise.all(publishers.map(async (publisher) => publisher.end()));
  expect(publish).toHaveBeenCalledTimes(1);
  expect(await storeOf().untold(START)).toEqual([]);
});

it('a process that ends waits for the current request, and leaves the rest to others', async () => {
  const answer = Promise.withResolvers<void>();
  const publish = vi.fn(async () => answer.promise);
  const publisher = publisherOf(publish);
  publisher.tell(await untold(3), log);
  let hasEnded = false;
  const ending = publisher.end().then(() => (hasEnded = true));
  await vi.waitUntil(() => publish.mock.calls.length === 1);
  expect(hasEnded).toBe(false);
  answer.resolve();
  await ending;
  expect(publish).toHaveBeenCalledTimes(1);
  expect(await storeOf().untold(START)).toHaveLength(2);
});
