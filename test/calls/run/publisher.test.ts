import { randomUUID } from 'node:crypto';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import type { OutcomeEvent } from '../../../src/calls/model/outcome-events.ts';
import type { PhoneLine } from '../../../src/calls/model/phone-line.ts';
import { Publisher } from '../../../src/calls/run/publisher.ts';
import { stoppedNotification } from '../../../src/calls/state/notification.ts';
import { withNews } from '../../../src/calls/state/outbox.ts';
import { NotificationStore, type StoredCase } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { callees, newCase, POLICY } from '../new-case.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const DAY = 24 * 3_600_000;

let now: number;
let table: Table;
let logged: string[];
beforeEach(() => {
  [now, logged] = [START, []];
  table = new Table(new MemoryTable(), { format: CALLS_FORMAT });
});

const clock = { now: () => now, after: () => () => undefined };
const note = (event: string) => void logged.push(event);
const log = { info: note, warn: note, error: note };
const unasked = async () => Promise.reject(new Error('nobody is called'));
const line: PhoneLine = {
  name: 'acs',
  isIdempotent: true,
  call: unasked,
  hangUp: unasked,
  check: async () => undefined,
};
const storeOf = () => new NotificationStore(table, randomUUID, () => undefined);

/** A process that tells others. */
const process = (publish: (events: readonly OutcomeEvent[]) => Promise<void>) => {
  const store = storeOf();
  const context = { line, store, policy: POLICY, destinations: [], clock, random: Math.random, newId: randomUUID, log };
  return { store, publisher: new Publisher(context, 'webhook', { publish }) };
};

/** Notifications that were stopped, of which others have not been told. */
const untold = async (count = 1): Promise<readonly StoredCase[]> => {
  const store = storeOf();
  for (let made = 0; made < count; made += 1) {
    const known = newCase(START - made, { waves: [callees(1)] });
    await store.create(
      withNews(known, stoppedNotification(known, START), ['webhook'], START),
      undefined,
      undefined,
      START,
    );
  }
  return store.untold(START);
};
const left = async () => (await storeOf().untold(now)).length;

describe('what is to be told', () => {
  it('is told with ids that stay the same, as GET answers it, and then taken out of the row', async () => {
    const known = await untold();
    const [id] = known.map(({ notification }) => notification.id);
    const events: OutcomeEvent[] = [];
    const { publisher } = process(async (all) => void events.push(...all));
    publisher.tell(known, log);
    await publisher.end();
    expect(events).toMatchObject([
      {
        id: `${id}/0/stopped`,
        type: 'Notification.RecipientFinal',
        time: START,
        data: { index: 0, status: 'stopped', attempts: 0 },
      },
      {
        id: `${id}/completed`,
        type: 'Notification.Completed',
        data: { notification_id: id, recipients: [{ recipient: '+1206•••••00' }] },
      },
    ]);
    expect([await left(), logged]).toEqual([0, ['outcomes published']]);
  });

  it('is told by one process only, though others have found it too', async () => {
    const known = await untold();
    const publish = vi.fn(async () => Promise.resolve());
    const processes = [process(publish), process(publish), process(publish)];
    for (const { publisher } of processes) publisher.tell(known, log);
    await Promise.all(processes.map(async ({ publisher }) => publisher.end()));
    expect(publish).toHaveBeenCalledTimes(1);
  });

  it('stays if it was not taken, and is dropped with an error after 24 hours', async () => {
    const known = await untold();
    for (const [later, stays] of [
      [0, 1],
      [DAY - 1, 1],
      [DAY + 600_000, 0],
    ] as const) {
      now = START + later;
      const { publisher, store } = process(async () => Promise.reject(Object.assign(new Error('x'), { status: 500 })));
      publisher.tell(await store.untold(now), log);
      await publisher.end();
      expect(await left()).toBe(stays);
    }
    expect([known.length, logged.at(-1)]).toEqual([1, 'outcomes never published']);
  });
});

it('a process that ends waits for what is being told, and leaves the rest to others', async () => {
  const answer = Promise.withResolvers<void>();
  const publish = vi.fn(async () => answer.promise);
  const { publisher } = process(publish);
  publisher.tell(await untold(3), log);
  let hasEnded = false;
  const ending = publisher.end().then(() => (hasEnded = true));
  await vi.waitUntil(() => publish.mock.calls.length === 1);
  expect(hasEnded).toBe(false);
  answer.resolve();
  await ending;
  expect([publish.mock.calls.length, await left()]).toEqual([1, 2]);
});
