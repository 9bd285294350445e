import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { parseCallId } from '../../../src/calls/call-id.ts';
import { placed as callPlaced } from '../../../src/calls/call-record.ts';
import { newRecipients, type Notification } from '../../../src/calls/notification.ts';
import { newNotificationId } from '../../../src/calls/notification-id.ts';
import { parsePhoneNumber } from '../../../src/calls/phone-number.ts';
import { claim, ended, placed } from '../../../src/calls/recipient.ts';
import { callRowAddress, callRowValues } from '../../../src/calls/store/call-rows.ts';
import { MemoryRows } from '../../../src/calls/store/memory-rows.ts';
import { KEY_HOLDS_MS, NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { type RowChange, type Rows, RowsUnavailable } from '../../../src/calls/store/rows.ts';
import { callsTable } from '../calls-table.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-21T08:00:00Z');
const storeRules = { callsPerDay: 100, retentionMs: 90 * DAY_MS };
const reachRules = { attempts: 3, retryMs: 60_000 };

const numbers = (count: number) =>
  Array.from({ length: count }, (_, index) => parsePhoneNumber(`+1206555${1_000 + index}`)).filter(
    (number) => number !== undefined,
  );

/** A notification to so many, and its recipients. */
const notify = (count: number, now = NOW, keyHash?: string) => {
  const notification: Notification = {
    id: newNotificationId(now),
    alertType: 'ConfirmedFire',
    createdAt: now,
    dueAt: now + 20_000,
    keyHash,
  };
  const rules = { allowedPrefixes: undefined, deadlineMs: 1_800_000 };
  return { notification, recipients: newRecipients(numbers(count), rules, randomUUID, now) };
};

describe.each<[string, () => Rows]>([
  ['the table', () => callsTable()],
  ['memory', () => new MemoryRows()],
])('notifications in %s', (_where, newRows) => {
  it('are written at once, 50 recipients too, and read as they were written', async () => {
    const store = new NotificationStore(newRows(), storeRules);
    const { notification, recipients } = notify(50, NOW, 'a'.repeat(64));
    const key = { keyHash: 'a'.repeat(64), fingerprint: 'f' };
    expect(await store.create(notification, recipients, key, NOW)).toBe('created');
    expect(await store.read(notification.id)).toEqual({ notification, recipients });
    expect(await store.dueList.until(NOW)).toEqual([]);
    expect(await store.dueList.until(NOW + 20_000)).toMatchObject([
      { kind: 'notification', notificationId: notification.id },
    ]);
    // Asked again because the answer was lost: nothing changes.
    expect(await store.create(notification, recipients, key, NOW)).toBe('created');
    expect(await store.create(notification, recipients, undefined, NOW)).toBe('created');
  });

  it('belong to their key for 24 hours', async () => {
    const store = new NotificationStore(newRows(), storeRules);
    const key = { keyHash: 'b'.repeat(64), fingerprint: 'f' };
    const [first, second] = [notify(1, NOW, key.keyHash), notify(1, NOW + 1, key.keyHash)];
    await store.create(first.notification, first.recipients, key, NOW);
    const earlier = { notificationId: first.notification.id, fingerprint: 'f', createdAt: NOW };
    expect(await store.create(second.notification, second.recipients, key, NOW + KEY_HOLDS_MS - 1)).toEqual({
      earlier,
    });
    expect(await store.read(second.notification.id)).toBeUndefined();
    const later = NOW + KEY_HOLDS_MS;
    expect(await store.create(second.notification, second.recipients, key, later)).toBe('created');
    expect((await store.earlierUse(key.keyHash, later))?.notificationId).toBe(second.notification.id);
  });

  it('take their calls from those of the day, exactly, however many are created at the same time', async () => {
    const rows = newRows();
    const ten = new NotificationStore(rows, { ...storeRules, callsPerDay: 10 });
    const created = await Promise.all(
      Array.from({ length: 12 }, () => {
        const { notification, recipients } = notify(1);
        return ten.create(notification, recipients, undefined, NOW);
      }),
    );
    expect(created.filter((one) => one === 'created')).toHaveLength(10);
    expect(created.filter((one) => one !== 'created')).toEqual([{ callsLeft: 0 }, { callsLeft: 0 }]);
    // The next day has its own.
    const { notification, recipients } = notify(50);
    expect(
      await new NotificationStore(rows, storeRules).create(notification, recipients, undefined, NOW + DAY_MS),
    ).toBe('created');
  });

  it('move what is due with the recipient, and let one of many dial', async () => {
    const rows = newRows();
    const store = new NotificationStore(rows, storeRules);
    const { notification, recipients } = notify(2);
    await store.create(notification, recipients, undefined, NOW);
    await store.enqueue(notification.id, NOW, NOW + 600_000);
    expect((await store.dueList.until(NOW)).map(({ kind }) => kind)).toEqual(['dial', 'dial']);

    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        new NotificationStore(rows, storeRules).claim(
          notification.id,
          0,
          (known) => claim(known, `attempt-${index}`, NOW),
          NOW,
        ),
      ),
    );
    expect(claims.filter((claimed) => claimed?.action === 'claimed')).toHaveLength(1);
    expect((await store.dueList.until(NOW)).map(({ kind }) => kind)).toEqual(['dial']);
    expect((await store.dueList.until(NOW + 60_000)).map(({ kind }) => kind)).toEqual(['dial', 'look']);
  });

  it('are completed when nothing more will be done, and only then are their numbers masked', async () => {
    const store = new NotificationStore(newRows(), storeRules);
    const { notification, recipients } = notify(2);
    const { id } = notification;
    await store.create(notification, recipients, undefined, NOW);
    const callId = parseCallId('a-call');
    if (callId === undefined) throw new Error('not a call id');
    for (const index of [0, 1]) {
      expect(await store.complete(id, NOW)).toBe('in progress');
      expect((await store.read(id))?.recipients[0]?.number).toBe('+12065551000');
      await store.claim(id, index, (known) => claim(known, 'first', NOW), NOW);
      await store.update(id, index, (known) => placed(known, 'first', callId, NOW));
      const outcome = { outcome: 'heard', endedAt: NOW } as const;
      await store.update(id, index, (known) => ended(known, 'first', callId, outcome, reachRules, NOW));
    }
    expect(await store.complete(id, NOW + 5)).toBe('completed');
    expect((await store.read(id))?.notification).toMatchObject({ completedAt: NOW + 5 });
    expect((await store.read(id))?.recipients.map(({ number }) => number)).toEqual(['+1206•••••00', '+1206•••••01']);
    expect(await store.complete(id, NOW + 9)).toBe('in progress');
    // Nothing is due but their deletion.
    expect(await store.dueList.until(NOW + 89 * DAY_MS)).toEqual([]);
  });

  it('are deleted with all their rows after the time that they are kept', async () => {
    const rows = newRows();
    const store = new NotificationStore(rows, storeRules);
    const key = { keyHash: 'c'.repeat(64), fingerprint: 'f' };
    const { notification, recipients } = notify(2, NOW, key.keyHash);
    const { id } = notification;
    await store.create(notification, recipients, key, NOW);
    const callId = parseCallId(randomUUID());
    if (callId === undefined) throw new Error('not a call id');
    await store.claim(id, 0, (known) => claim(known, 'first', NOW), NOW);
    await store.update(id, 0, (known) => placed(known, 'first', callId, NOW));
    const call = callPlaced(undefined, { alertType: 'ConfirmedFire' }, NOW).next;
    await rows.write(callRowAddress(callId), callRowValues(call ?? { state: 'ended', alertType: 'Custom' }), undefined);
    await store.dueList.forgetCall(callId);

    for (let rounds = 0; rounds < 3; rounds += 1) {
      for (const due of await store.dueList.until(Date.now() + 400 * DAY_MS)) {
        await (due.kind.startsWith('expired') ? store.dueList.deleteExpired(due) : store.dueList.drop(due));
      }
    }
    expect(await store.read(id)).toBeUndefined();
    expect(await store.earlierUse(key.keyHash, NOW)).toBeUndefined();
    expect(await rows.read(callRowAddress(callId), 'patient')).toBeUndefined();
    expect(await rows.list('notifications', { from: '', to: '~' })).toEqual([]);
  });

  it('are listed newest first, as many as are asked for', async () => {
    const store = new NotificationStore(newRows(), storeRules);
    const created = Array.from({ length: 5 }, (_, index) => notify(index === 3 ? 30 : 2, NOW + index));
    for (const { notification, recipients } of created) await store.create(notification, recipients, undefined, NOW);
    const ids = created.map(({ notification }) => notification.id).toReversed();
    expect((await store.newest(3)).map(({ notification }) => notification.id)).toEqual(ids.slice(0, 3));
    const all = await store.newest(100);
    expect(all.map(({ notification }) => notification.id)).toEqual(ids);
    expect(all.map(({ recipients }) => recipients.length)).toEqual([2, 30, 2, 2, 2]);
  });
});

describe('a notification whose creation got no answer', () => {
  it('is found when it is asked for again, with its key and without', async () => {
    const rows = new MemoryRows();
    let isLost = true;
    const losing: Rows = {
      read: (address) => rows.read(address),
      write: (address, values, etag) => rows.write(address, values, etag),
      list: (...range) => rows.list(...range),
      delete: (address) => rows.delete(address),
      commit: async (partition: string, changes: readonly RowChange[]) => {
        const result = await rows.commit(partition, changes);
        if (isLost) throw new RowsUnavailable('deadline');
        return result;
      },
    };
    const store = new NotificationStore(losing, storeRules);
    for (const key of [undefined, { keyHash: 'd'.repeat(64), fingerprint: 'f' }]) {
      isLost = true;
      const { notification, recipients } = notify(3, NOW, key?.keyHash);
      await expect(store.create(notification, recipients, key, NOW)).rejects.toThrow(RowsUnavailable);
      isLost = false;
      expect(await store.create(notification, recipients, key, NOW)).toBe('created');
    }
    expect(await store.newest(10)).toHaveLength(2);
  });
});

describe('a change whose commit gets no answer', () => {
  it.each(['made', 'not made'] as const)(
    'is tried once more where it was %s, and tells what it did: one missed answer must not delay a call',
    async (fate) => {
      const rows = new MemoryRows();
      let toLose = 0;
      const losing: Rows = {
        read: (address) => rows.read(address),
        write: (address, values, etag) => rows.write(address, values, etag),
        list: (...range) => rows.list(...range),
        delete: (address) => rows.delete(address),
        commit: async (partition: string, changes: readonly RowChange[]) => {
          const isLost = toLose > 0;
          if (isLost) toLose -= 1;
          if (isLost && fate === 'not made') throw new RowsUnavailable('deadline');
          const result = await rows.commit(partition, changes);
          if (isLost) throw new RowsUnavailable('deadline');
          return result;
        },
      };
      const store = new NotificationStore(losing, { ...storeRules, callsPerDay: 2 });
      const { notification, recipients } = notify(1);
      await store.create(notification, recipients, undefined, NOW);
      const attemptId = randomUUID();
      toLose = 1;
      const claimed = await store.claim(notification.id, 0, (known) => claim(known, attemptId, NOW), NOW);
      expect(claimed).toMatchObject({ action: 'claimed', recipient: { state: 'dialling' } });
      const busy = { outcome: 'busy', endedAt: NOW + 1 } as const;
      const end = () =>
        store.update(notification.id, 0, (known) => ended(known, attemptId, undefined, busy, reachRules, NOW + 1));
      toLose = 1;
      expect(await end()).toMatchObject({ action: 'ended', recipient: { state: 'waiting' } });
      expect(await end()).toMatchObject({ action: 'nothing' });
      // A further call is counted once.
      toLose = 1;
      const again = NOW + 120_000;
      const second = (at: number) => store.claim(notification.id, 0, (known) => claim(known, randomUUID(), at), at);
      expect(await second(again)).toMatchObject({ action: 'claimed', recipient: { attempts: [{}, {}] } });
      expect((await rows.read({ partitionKey: 'notifications', rowKey: 'day|2026-11-21' }))?.values).toEqual({
        calls: 2,
      });
    },
  );
});
