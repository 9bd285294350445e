import { expect, it } from 'vitest';

import { dayOf } from '../../../src/calls/rules/day-limit.ts';
import { newNotificationId } from '../../../src/calls/model/ids.ts';
import { stoppedNotification } from '../../../src/calls/state/notification.ts';
import { claimed } from '../../../src/calls/state/recipient.ts';
import { CALLS, dayRowKey, idempotencyRowKey, notificationKey, recipientKey } from '../../../src/calls/store/keys.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { newCase, numbers } from '../new-case.ts';

// Rows as a later version leaves them, read and written by this one.

const NOW = Date.parse('2026-11-21T08:00:00Z');
const ID = newNotificationId(NOW, 'aaaaaaaaaaaaaaaaaaaa');
const LONG = { type: 'Int64', value: '9007199254740993' };

const stage = async () => {
  const memory = new MemoryTable(() => NOW);
  const told: string[] = [];
  const table = new Table(memory, { format: CALLS_FORMAT });
  const store = new NotificationStore({
    table,
    callsPerDay: 100,
    retentionMs: 90 * 86_400_000,
    destinations: [],
    newId: () => 'bbbbbbbb',
    tell: ({ rowKey }) => told.push(rowKey),
  });
  const key = { keyHash: 'k', fingerprint: 'f' };
  await store.create(newCase(NOW, { waves: [numbers(2)] }, ID), key, { snapshot: await store.look(NOW) }, NOW);
  const write = async (rowKey: string, properties: Extract<RowWrite, { properties: object }>['properties']) => {
    const isThere = memory.rows(CALLS).some((row) => row.rowKey === rowKey);
    await table.transact(CALLS, [
      isThere ? { kind: 'merge', rowKey, etag: '*', properties } : { kind: 'insert', rowKey, properties },
    ]);
  };
  const row = (rowKey: string) => memory.rows(CALLS).find((one) => one.rowKey === rowKey)?.properties ?? {};
  return { store, told, write, row };
};

const claim = { attemptId: 'first', beside: 0, isProbe: false };
const line = { name: 'acs', isIdempotent: true };
const times = { ringMs: 30_000, unitMs: 8_000, messageMs: 20_000, retryMs: 30_000 };
const reach = { line, confirm: false, attempts: 3, allowedPrefixes: undefined, ...times };

it('properties and members of JSON that this version does not know are written again as they were', async () => {
  const { store, write, row } = await stage();
  const first = recipientKey(ID, 0);
  const attempt = { id: 'earlier', state: 'over', claimedAt: NOW, outcome: 'unknown', beforehand: { deep: [1] } };
  await write(notificationKey(ID), { region: 'north', size: LONG });
  await write(first, { mood: 'calm', size: LONG, attempts: JSON.stringify([attempt]) });
  const known = await store.load(ID);
  if (known === undefined) throw new Error('the notification is not there');
  const [one, ...others] = known.recipients;
  if (one === undefined) throw new Error('nobody is there');
  const { next } = claimed(one, claim, { ...known.notification, ...reach }, NOW);
  await store.commit(known, stoppedNotification({ ...known, recipients: [next, ...others] }, NOW), NOW);
  expect(row(notificationKey(ID))).toMatchObject({ region: 'north', size: LONG, stoppedAt: new Date(NOW) });
  expect(row(first)).toMatchObject({ mood: 'calm', size: LONG, isStopped: true });
  const attempts: unknown = JSON.parse(String(row(first)['attempts']));
  expect(attempts).toMatchObject([attempt, { id: 'first' }]);
  // What is optional goes all the same, and a row has the format of who wrote it last.
  expect(row(recipientKey(ID, 1))).not.toHaveProperty('dueAt');
  expect(row(first)['format']).toBe(CALLS_FORMAT);
});

it('what is known of the lines, and the count of a day, keep what a later version has added', async () => {
  const { store, write, row } = await stage();
  const day = dayRowKey(dayOf(NOW));
  await write('due|!line', {
    lines: '{"known":3,"zone":"north","fault":{"number":"n","at":1,"depth":2}}',
    since: LONG,
  });
  await write(day, { calls: 4, cost: LONG });
  const snapshot = await store.look(NOW);
  await store.learn({ ...snapshot.line, known: 2 }, snapshot);
  expect(JSON.parse(String(row('due|!line')['lines']))).toEqual({
    known: 2,
    zone: 'north',
    fault: { number: 'n', at: 1, depth: 2 },
  });
  expect(row('due|!line')['since']).toEqual(LONG);
  const again = { ...newNotificationCase(), snapshot: await store.look(NOW) };
  await store.create(again.known, undefined, again, NOW);
  expect(row(day)).toMatchObject({ calls: 5, cost: LONG });
});

const newNotificationCase = () => {
  const known = newCase(NOW, { waves: [numbers(1, 2)] }, newNotificationId(NOW + 1, 'cccccccccccccccccccc'));
  return {
    known: { ...known, recipients: known.recipients.map((one) => Object.assign({}, one, { isCounted: true })) },
  };
};

it('an entry of a kind that this version does not know stays, and is told once', async () => {
  const { store, told, write, row } = await stage();
  const rowKey = `due|2026-11-21T07:59:00.000Z|remind|${ID}`;
  await write(rowKey, { text: 'x' });
  for (let looks = 0; looks < 3; looks += 1) await store.look(NOW);
  expect(told).toEqual([rowKey]);
  expect(row(rowKey)['text']).toBe('x');
});

it('a key whose row cannot be read keeps nobody from being called', async () => {
  const { store, told, write } = await stage();
  await write(idempotencyRowKey('k'), { format: 99 });
  expect(await store.readKey({ keyHash: 'k', fingerprint: 'f' }, NOW)).not.toHaveProperty('earlier');
  expect(told).toEqual([idempotencyRowKey('k')]);
});
