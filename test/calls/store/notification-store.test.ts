import { randomUUID } from 'node:crypto';

import { expect, it } from 'vitest';

import { newNotification } from '../../../src/calls/state/notification.ts';
import { newNotificationId } from '../../../src/calls/model/notification-id.ts';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';

const START = Date.parse('2026-11-21T08:00:00Z');

it.each([1, 2, 20])('the newest %i are found where each has as many recipients as a request may name', async (most) => {
  const table = new Table(new MemoryTable(), { format: CALLS_FORMAT });
  const parts = { callsPerDay: 5_000, retentionMs: 86_400_000, isPublishing: false, newId: randomUUID };
  const store = new NotificationStore({ table, ...parts });
  const numbers = Array.from({ length: 50 }, (_, index) => parsePhoneNumber(`+12065550${100 + index}`) ?? []).flat();
  for (let at = START; at < START + most; at += 1) {
    const id = newNotificationId(at, randomUUID());
    const notification = { id, alertType: 'Custom', createdAt: at } as const;
    const about = { notification, waves: [numbers], deadlineMs: 60_000, allowedPrefixes: undefined, callsLeft: 5_000 };
    await store.create(newNotification(about, at), undefined, { snapshot: await store.look(at) }, at);
  }
  const found = await store.newest(most);
  expect(found.map(({ notification }) => notification.createdAt - START)).toEqual(
    Array.from({ length: most }, (_, index) => most - 1 - index),
  );
  expect(found.map(({ recipients }) => recipients.length)).toEqual(Array(most).fill(50));
});
