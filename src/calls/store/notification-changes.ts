import type { Notification } from '../notification.ts';
import type { NotificationId } from '../notification-id.ts';
import type { Recipient } from '../recipient-state.ts';
import { dueKey, dueKeyOf, moveDue } from './due-rows.ts';
import { notificationKey, notificationValues, recipientKey, recipientValues } from './notification-rows.ts';
import type { RowChange, RowValues, StoredRow } from './rows.ts';

// A row and its entry among what is due change in one commit: each function here makes the changes of both.

/** Inserts a notification with its recipients. */
export const insertNotification = (
  notification: Notification,
  recipients: readonly Recipient[],
): readonly RowChange[] => [
  { kind: 'insert', rowKey: notificationKey(notification.id), values: notificationValues(notification) },
  ...moveDue(undefined, notificationDue(notification)),
  ...recipients.flatMap((recipient, index): readonly RowChange[] => [
    { kind: 'insert', rowKey: recipientKey(notification.id, index), values: recipientValues(recipient) },
    ...moveDue(undefined, dueKeyOf(notification.id, index, recipient)),
  ]),
];

/** Replaces a notification, provided that its row is still the one that was read. */
export const replaceNotification = (
  { rowKey, etag }: StoredRow,
  from: Notification,
  to: Notification,
): readonly RowChange[] => [
  { kind: 'replace', rowKey, values: notificationValues(to), etag },
  ...moveDue(notificationDue(from), notificationDue(to)),
];

/** Replaces a recipient, provided that its row is still the one that was read. */
export const replaceRecipient = (
  id: NotificationId,
  { index, row, recipient }: { readonly index: number; readonly row: StoredRow; readonly recipient: Recipient },
  to: Recipient,
): readonly RowChange[] => [
  { kind: 'replace', rowKey: row.rowKey, values: recipientValues(to), etag: row.etag },
  ...moveDue(dueKeyOf(id, index, recipient), dueKeyOf(id, index, to)),
];

/** The row key of the entry of a notification as a whole; undefined where it has none. */
export const notificationDue = ({ id, dueAt }: Notification): string | undefined =>
  dueAt === undefined ? undefined : dueKey(dueAt, { kind: 'notification', notificationId: id });

/** Inserts a row that was not there, or replaces the one that was read. */
export const writeOver = (rowKey: string, values: RowValues, earlier: StoredRow | undefined): RowChange =>
  earlier === undefined ? { kind: 'insert', rowKey, values } : { kind: 'replace', rowKey, values, etag: earlier.etag };
