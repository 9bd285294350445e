import type { NotificationId } from '../notification-id.ts';
import { callRowAddress } from './call-rows.ts';
import { type Due, dueKeyOf } from './due-rows.ts';
import { notificationDue } from './notification-changes.ts';
import {
  dayRowKey,
  idempotencyRowKey,
  NOTIFICATIONS,
  notificationRange,
  parseIdempotencyRow,
  parseNotificationRow,
} from './notification-rows.ts';
import type { Rows } from './rows.ts';
import { readRow, storedRecipients } from './stored-notifications.ts';

/** Deletes what has expired; an entry of another kind stays. Safe to stop at any point: the entry goes last. */
export const deleteExpired = async (rows: Rows, due: Due): Promise<void> => {
  if (due.kind === 'expired_call') {
    await rows.delete(callRowAddress(due.callId));
    await rows.delete({ partitionKey: NOTIFICATIONS, rowKey: due.rowKey });
  } else if (due.kind === 'expired_day') {
    await rows.commit(NOTIFICATIONS, [
      { kind: 'delete', rowKey: dayRowKey(due.day) },
      { kind: 'delete', rowKey: due.rowKey },
    ]);
  } else if (due.kind === 'expired_notification') await deleteNotification(rows, due.notificationId, due.rowKey);
};

const deleteNotification = async (rows: Rows, id: NotificationId, entry: string): Promise<void> => {
  const ofNotification = await rows.list(NOTIFICATIONS, notificationRange(id));
  const recipients = storedRecipients(ofNotification);
  for (const { recipient } of recipients) {
    for (const { callId } of recipient.attempts) if (callId !== undefined) await rows.delete(callRowAddress(callId));
  }
  const notification = ofNotification[0] && parseNotificationRow(ofNotification[0]);
  const keyHash = notification?.keyHash;
  const keyRow = keyHash === undefined ? undefined : await readRow(rows, idempotencyRowKey(keyHash));
  // The key may belong to a later notification by now.
  const ownKey = keyRow && parseIdempotencyRow(keyRow)?.notificationId === id ? keyRow.rowKey : undefined;
  // One by one: of what is over, none is there.
  const dueKeys = [
    notification && notificationDue(notification),
    ...recipients.map(({ index, recipient }) => dueKeyOf(id, index, recipient)),
  ];
  for (const rowKey of dueKeys) {
    if (rowKey !== undefined) await rows.delete({ partitionKey: NOTIFICATIONS, rowKey });
  }
  const keys = [...ofNotification.map(({ rowKey }) => rowKey), ownKey, entry];
  await rows.commit(
    NOTIFICATIONS,
    keys.flatMap((rowKey) => (rowKey === undefined ? [] : { kind: 'delete', rowKey })),
  );
};
