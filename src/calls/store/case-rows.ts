import { ANY_VERSION, type NewProperties, type RowWrite } from '../../storage/row.ts';
import type { NotificationId } from '../model/ids.ts';
import { LONGEST_RINGING_MS } from '../model/phone-line.ts';
import { hashOfNumber } from '../model/phone-number.ts';
import {
  isUrgentNotification,
  type Notification,
  type NotificationCase,
  notificationDueAt,
} from '../state/notification.ts';
import type { Recipient } from '../state/recipient.ts';
import { attentionKey, dueKey, notificationKey, openKey, recipientKey } from './keys.ts';
import { type DueProperties, dueRows, notificationRows, type OpenProperties, openRows, recipientRows } from './rows.ts';

// From a notification to its rows, and from two of it to the writes that lead from one to the other.

/** A notification as it was read or written. */
export interface StoredCase extends NotificationCase {
  /** The versions of its rows: its own, and one for each recipient. */
  readonly etags: readonly string[];
}

interface CaseRow {
  readonly rowKey: string;
  readonly holds: Notification | Recipient;
  readonly properties: () => NewProperties;
}

/** The rows of a notification: its own, and one for each recipient. */
export const rowsOf = ({ notification, recipients }: NotificationCase): readonly CaseRow[] => [
  {
    rowKey: notificationKey(notification.id),
    holds: notification,
    properties: () => notificationRows.propertiesOf(notification),
  },
  ...recipients.map((recipient, index) => ({
    rowKey: recipientKey(notification.id, index),
    holds: recipient,
    properties: () => recipientRows.propertiesOf(recipient),
  })),
];

const isUnreadable = (row: CaseRow): boolean => 'isUnreadable' in row.holds && row.holds.isUnreadable === true;

/** Whether two are the same when they are stored: what is undefined is not, and what cannot be read is not written. */
const isSame = (one: CaseRow | undefined, other: CaseRow): boolean =>
  one !== undefined &&
  (one.holds === other.holds ||
    isUnreadable(other) ||
    JSON.stringify(one.properties()) === JSON.stringify(other.properties()));

/** The rows that differ, with their places among all. */
export const changedRows = (known: NotificationCase, next: NotificationCase) => {
  const before = rowsOf(known);
  return rowsOf(next).flatMap((row, at) => (isSame(before[at], row) ? [] : [{ ...row, at }]));
};

/** Writes of rows that changed, if nobody else has written them since. */
export const replacing = (known: StoredCase, changed: ReturnType<typeof changedRows>): readonly RowWrite[] =>
  changed.map(({ rowKey, at, properties }) => ({
    kind: 'replace',
    rowKey,
    etag: known.etags[at] ?? '',
    properties: properties(),
  }));

/** Whether the rows that a commit was to change are stored as it would have left them: its answer was lost. */
export const isCommitted = (stored: NotificationCase, before: NotificationCase, next: NotificationCase): boolean => {
  const [rowsBefore, rowsStored] = [rowsOf(before), rowsOf(stored)];
  return rowsOf(next).every((row, at) => isSame(rowsBefore[at], row) || isSame(rowsStored[at], row));
};

/** The entry of a notification as a whole; undefined if it has none. */
export const notificationEntry = (notification: Notification): string | undefined => {
  const at = notificationDueAt(notification);
  return at === undefined ? undefined : dueKey(at, { kind: 'notification', notificationId: notification.id });
};

/** The entry of a recipient, which may be one for several who wait for their first call; undefined if it has none. */
export const recipientEntry = (
  notification: Notification,
  index: number,
  { dueAt, state, isCovered, isGrouped }: Recipient,
): string | undefined => {
  const { id: notificationId } = notification;
  if (dueAt === undefined || isCovered === true) return undefined;
  if (state !== 'waiting') return dueKey(dueAt, { kind: 'look', notificationId, index });
  const kind = isUrgentNotification(notification) ? 'dial_urgent' : 'dial';
  return dueKey(dueAt, { kind, notificationId, ...(isGrouped === true ? {} : { index }) });
};

/** All that is due of a notification. */
export const entriesOf = ({ notification, recipients }: NotificationCase): ReadonlyMap<string, DueProperties> => {
  const entries = new Map<string, DueProperties>();
  const whole = notificationEntry(notification);
  if (whole !== undefined) entries.set(whole, {});
  recipients.forEach((recipient, index) => {
    const entry = recipientEntry(notification, index, recipient);
    if (entry === undefined) return;
    const { state, isGrouped, queuedAt, refusals, hadNoLine } = recipient;
    const number = state === 'waiting' ? (hashOfNumber(recipient.number) ?? '') : '';
    if (state !== 'waiting') entries.set(entry, {});
    else if (isGrouped !== true) entries.set(entry, { number, queuedAt, refusals, hadNoLine });
    else entries.set(entry, { people: [...(entries.get(entry)?.people ?? []), [index, number]] });
  });
  return entries;
};

/** Inserts an entry about something due. */
export const insertDue = (rowKey: string, properties: DueProperties = {}): RowWrite => ({
  kind: 'insert',
  rowKey,
  properties: dueRows.propertiesOf(properties),
});

/**
 * Moves the entries of what has changed; who is final may leave one behind, which is dropped when it is found.
 *
 * @param claimed the entry from which a claim takes somebody: it is written as it was read, not as it follows from a notification
 */
export const dueWrites = (
  known: NotificationCase | undefined,
  next: NotificationCase,
  claimed?: string,
): readonly RowWrite[] => {
  const before = known === undefined ? new Map<string, DueProperties>() : entriesOf(known);
  const after = entriesOf(next);
  return [
    ...[...after].flatMap(([rowKey, properties]) => (before.has(rowKey) ? [] : [insertDue(rowKey, properties)])),
    ...[...before.keys()].flatMap((rowKey) =>
      after.has(rowKey) || rowKey === claimed ? [] : [{ kind: 'delete', rowKey } as const],
    ),
  ];
};

/** Writes the row of a notification that needs attention, or deletes it. */
export const attentionWrites = (
  known: NotificationCase | undefined,
  { notification }: NotificationCase,
): readonly RowWrite[] => {
  const was = known?.notification.isListed === true;
  const rowKey = attentionKey(notification.id);
  if (notification.isListed === true) return was ? [] : [{ kind: 'insert', rowKey, properties: {} }];
  return was ? [{ kind: 'delete', rowKey }] : [];
};

/** The rows of the calls that hold their numbers. */
const openOf = ({ notification, recipients }: NotificationCase): ReadonlyMap<string, OpenProperties> =>
  new Map(
    recipients.flatMap(({ number, attempts, dueAt }, index) => {
      const attempt = attempts.find(({ holdsNumber }) => holdsNumber === true);
      const hash = attempt && hashOfNumber(number);
      if (hash === undefined || attempt === undefined) return [];
      const { id, state, claimedAt, placedAt, speakingAt, hangingUpSince } = attempt;
      const open: OpenProperties = {
        notificationId: notification.id,
        index,
        attemptId: id,
        isUrgent: isUrgentNotification(notification),
        claimedAt,
        acceptedAt: placedAt,
        connectedAt: speakingAt,
        hangUpAt: hangingUpSince,
        lookAt: state === 'claimed' ? claimedAt + LONGEST_RINGING_MS : dueAt,
      };
      return [[openKey(hash), open]];
    }),
  );

/**
 * Writes the open calls of what has changed. A call whose number was taken over deletes nothing.
 *
 * @param takenOver the row of an earlier call to the number, and its version
 */
export const openWrites = (
  known: NotificationCase | undefined,
  next: NotificationCase,
  takenOver?: { readonly rowKey: string; readonly etag: string },
): readonly RowWrite[] => {
  const before = known === undefined ? new Map<string, OpenProperties>() : openOf(known);
  const after = openOf(next);
  const replaced = new Set(
    next.recipients.flatMap(({ attempts }) =>
      attempts.flatMap(({ id, isReplaced }) => (isReplaced === true ? id : [])),
    ),
  );
  return [
    ...[...after].flatMap(([rowKey, open]): readonly RowWrite[] => {
      const properties = openRows.propertiesOf(open);
      const was = before.get(rowKey);
      if (was !== undefined && JSON.stringify(openRows.propertiesOf(was)) === JSON.stringify(properties)) return [];
      if (was !== undefined) return [{ kind: 'merge', rowKey, etag: ANY_VERSION, properties }];
      return takenOver?.rowKey === rowKey
        ? [{ kind: 'replace', rowKey, etag: takenOver.etag, properties }]
        : [{ kind: 'insert', rowKey, properties }];
    }),
    ...[...before].flatMap(([rowKey, { attemptId }]): readonly RowWrite[] =>
      after.has(rowKey) || replaced.has(attemptId) ? [] : [{ kind: 'delete', rowKey }],
    ),
  ];
};

const MOST_WRITES = 100;

const isOmitted = (write: RowWrite): boolean =>
  (write.kind === 'merge' && write.etag === ANY_VERSION && write.rowKey.startsWith('due|!open')) ||
  (write.kind === 'delete' && !write.rowKey.startsWith('due|!'));

/**
 * A stop of 50 people has more writes than a transaction takes. What is left out are news of open calls, and deletions of entries, which whoever
 * finds them drops.
 */
export const withinLimit = (writes: readonly RowWrite[]): readonly RowWrite[] => {
  let excess = writes.length - MOST_WRITES;
  return excess <= 0 ? writes : writes.filter((write) => !isOmitted(write) || (excess -= 1) < 0);
};

/** Whether an entry is still what it says: the others are left over. That of somebody whose row cannot be read stays: a later version may have written both. */
export const isCurrentEntry = (
  { rowKey, index }: { readonly rowKey: string; readonly index?: number | undefined },
  { notification, recipients }: NotificationCase,
): boolean => {
  if (index !== undefined) {
    const recipient = recipients[index];
    if (recipient === undefined) return false;
    return recipient.isUnreadable === true || rowKey === recipientEntry(notification, index, recipient);
  }
  return (
    rowKey === notificationEntry(notification) ||
    recipients.some((one, at) => one.isUnreadable === true || rowKey === recipientEntry(notification, at, one))
  );
};

/** Names a recipient, and the notification. */
export interface RecipientRef {
  readonly notificationId: NotificationId;
  readonly index: number;
}
