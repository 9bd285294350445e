import { randomUUID } from 'node:crypto';

import { expect, it, vi } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { parseCallId, newNotificationId } from '../../../src/calls/model/ids.ts';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { PhoneLine } from '../../../src/calls/model/phone-line.ts';
import { createPhone } from '../../../src/calls/phone.ts';
import { Publisher } from '../../../src/calls/run/publisher.ts';
import { insertDue } from '../../../src/calls/store/case-rows.ts';
import { CALLS, dueKey, parseDueKey } from '../../../src/calls/store/keys.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const NOW = Date.parse('2026-11-21T08:00:00Z');

/** A store, and entries in it about so many notifications. */
const storeWithDue = async (count: number) => {
  const table = new Table(new MemoryTable(), { format: CALLS_FORMAT });
  const parts = { table, callsPerDay: 1, retentionMs: 1, destinations: ['topic'] as const, newId: randomUUID };
  const due = Array.from({ length: count }, (_, index) => {
    const about = {
      kind: 'publish',
      notificationId: newNotificationId(NOW, randomUUID()),
      batch: `batch${index}`,
    } as const;
    return { ...about, at: NOW, rowKey: dueKey(NOW, about), indexes: '0', to: 'topic' } as const;
  });
  for (const { rowKey, indexes } of due) await table.transact(CALLS, [insertDue(rowKey, { indexes })]);
  const entries = async () => (await table.all(CALLS, { from: 'due|', before: 'due|~' })).map(({ rowKey }) => rowKey);
  return { store: new NotificationStore(parts), due, entries };
};

const ABOUT = {
  to: 'topic',
  clock: { now: () => NOW, after: () => () => undefined },
  recall: () => undefined,
  bodyOf: () => ({}),
} as const;

it('an entry is published by one only, though others have read it too: who ends meanwhile leaves it to a later look', async () => {
  const { store, due, entries } = await storeWithDue(1);
  const load = vi.spyOn(store, 'load');
  const topic = { publish: () => Promise.reject(new Error('nothing is to be published')) };
  const others = [new Publisher({ ...ABOUT, store, topic }), new Publisher({ ...ABOUT, store, topic })];
  for (const one of others) one.run(due, SILENT);
  await Promise.all(others.map(async (one) => one.end()));
  expect(load).toHaveBeenCalledTimes(1);
  expect(await entries()).toEqual([]);
});

it('while it is being published, an entry is due again later than publishing takes; what was not taken is due again after a pause', async () => {
  const { store, due, entries } = await storeWithDue(1);
  const asked = Promise.withResolvers<undefined>();
  const answer = Promise.withResolvers<undefined>();
  vi.spyOn(store, 'load').mockImplementation(async () => {
    asked.resolve(undefined);
    return answer.promise;
  });
  const publisher = new Publisher({ ...ABOUT, store, topic: { publish: () => Promise.resolve() } });
  publisher.run(due, SILENT);
  await asked.promise;
  const dueAt = async () => (await entries()).map((rowKey) => (parseDueKey(rowKey)?.at ?? 0) - NOW);
  expect(await dueAt()).toEqual([30_000]);
  answer.reject(new Error('no answer'));
  await publisher.end();
  expect(await dueAt()).toEqual([10_000]);
});

it('a process that ends waits for the batch that is being published, and leaves the others to whoever looks next', async () => {
  const { store, due } = await storeWithDue(3);
  const answer = Promise.withResolvers<undefined>();
  const load = vi.spyOn(store, 'load').mockReturnValue(answer.promise);
  const topic = { publish: () => Promise.reject(new Error('nothing is to be published')) };
  const publisher = new Publisher({ ...ABOUT, store, topic });
  publisher.run(due, SILENT);
  let hasEnded = false;
  const ending = publisher.end().then(() => (hasEnded = true));
  await vi.waitUntil(() => load.mock.calls.length === 1);
  expect(hasEnded).toBe(false);
  answer.resolve(undefined);
  await ending;
  publisher.run(due, SILENT);
  expect(load.mock.calls).toEqual([[due[0]?.notificationId]]);
});

it('the timer function does not wait for a topic that hangs: while it runs it would not be started again', async () => {
  const number = parsePhoneNumber('+12065550100');
  const callId = parseCallId('call-1');
  if (number === undefined || callId === undefined) throw new RangeError('not a number, or not an id');
  const line: PhoneLine = {
    name: 'line',
    isIdempotent: true,
    refusesSurely: true,
    call: () => Promise.resolve(callId),
    speak: () => Promise.resolve(undefined),
    listen: () => Promise.resolve(),
    hangUp: () => Promise.resolve(),
  };
  const asked = Promise.withResolvers<undefined>();
  const answer = Promise.withResolvers<undefined>();
  const publish = async (): Promise<void> => {
    asked.resolve(undefined);
    await answer.promise;
  };
  const rules = {
    attempts: 1,
    retryMs: 60_000,
    deadlineMs: 3_600_000,
    ringMs: 30_000,
    allowedPrefixes: undefined,
    callsPerDay: 100,
    retentionMs: 86_400_000,
  };
  const table = new Table(new MemoryTable(), { format: CALLS_FORMAT });
  const phone = createPhone({ line, table, serviceName: 'Watch', rules, topic: { publish }, log: SILENT });
  const sent = await phone.send({ alertType: alertTypeOf('Custom'), waves: [[number]] }, undefined, SILENT);
  if (sent.kind !== 'sent') throw new Error(sent.kind);
  await phone.acknowledge(sent.id, 'Ranger', SILENT);
  const looked = phone.runDue(SILENT).then(() => 'has looked');
  await asked.promise;
  const waits = new Promise((resolve) => setTimeout(resolve, 10_000, 'waits'));
  expect(await Promise.race([looked, waits])).toBe('has looked');
  answer.resolve(undefined);
  await phone.end();
});
