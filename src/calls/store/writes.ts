import { type RowWrite, writeOf } from '../../storage/row.ts';
import type { Destination } from '../model/outcome-events.ts';
import type { LineState } from '../rules/lines.ts';
import { isForeign } from '../state/foreign-call.ts';
import type { NotificationCase } from '../state/notification.ts';
import { finalWord, isFinal } from '../state/recipient.ts';
import { attentionWrites, dueWrites, insertDue, openWrites, rowsOf, type StoredCase } from './case-rows.ts';
import { dayRowKey, dueKey, LINE_KEY } from './keys.ts';
import { dayRows, lineRows } from './rows.ts';
import type { OpenRow, Snapshot, StoredLines, Waiting } from './snapshot.ts';

/** What decides which rows stand beside a notification's own. */
export interface WrittenWith {
  /** How long rows are kept, in milliseconds. */
  readonly retentionMs: number;
  /** Where outcomes are published. */
  readonly destinations: readonly Destination[];
  readonly newId: () => string;
}

/** What a commit changes beside a notification. */
export interface Beside {
  /** What is known of the lines from now on: only if nobody has claimed, refused or made way since they were read. */
  readonly line?: LineState | undefined;
  /** What was read of the lines, if not a snapshot. */
  readonly lines?: StoredLines | undefined;
  /** From which a claim was decided. */
  readonly snapshot?: Snapshot | undefined;
  /** Who is claimed. */
  readonly who?: Waiting | undefined;
  /** The row of an open call whose number is taken over, and the notification to which that call belongs, before and after. */
  readonly takesOver?: OpenRow | undefined;
  readonly earlier?: { readonly known: StoredCase; readonly next: NotificationCase } | undefined;
}

/** All rows of a new notification, and when they expire. */
export const insertWrites = (parts: WrittenWith, known: NotificationCase, now: number): readonly RowWrite[] => {
  const about = { kind: 'expired_notification', notificationId: known.notification.id } as const;
  const expiry = dueKey(now + parts.retentionMs, about);
  return [
    ...rowsOf(known).map(({ rowKey, properties }): RowWrite => ({
      kind: 'insert',
      rowKey,
      properties: properties(),
    })),
    ...dueWrites(undefined, known),
    ...attentionWrites(undefined, known),
    ...openWrites(undefined, known),
    insertDue(expiry),
  ];
};

/** The entries of what a change has to publish, one for each destination. */
export const publishWrites = (
  parts: WrittenWith,
  known: NotificationCase | undefined,
  next: NotificationCase,
  now: number,
): readonly RowWrite[] => {
  const { id, completedAt, stoppedAt, acknowledgedAt } = next.notification;
  if (parts.destinations.length === 0 || isForeign(id)) return [];
  const told = next.recipients.flatMap((recipient, index) => {
    const before = known?.recipients[index];
    const isNews = isFinal(recipient) && recipient.state !== (before && finalWord(before));
    return isNews ? { index, word: recipient.state } : [];
  });
  const isCompleted = completedAt !== undefined && known?.notification.completedAt === undefined;
  const isStopped = stoppedAt !== undefined && known?.notification.stoppedAt === undefined;
  const isAcknowledged = acknowledgedAt !== undefined && known?.notification.acknowledgedAt === undefined;
  if (told.length === 0 && !isCompleted && !isStopped && !isAcknowledged) return [];
  return parts.destinations.map((to) => {
    const batch = parts.newId().slice(0, 8);
    const key = dueKey(now, { kind: 'publish', notificationId: id, batch });
    return insertDue(key, {
      indexes: told.map(({ index }) => index).join(),
      // It may be published when the rows say something else.
      ...(told.length > 0 && { words: told.map(({ word }) => word).join() }),
      ...((isCompleted || isStopped) && { isCompleted: true, end: isCompleted ? 'completed' : 'stopped' }),
      ...(isAcknowledged && { isAcknowledged }),
      // Entries of versions before name no destination.
      ...(to !== 'topic' && { to }),
    });
  });
};

/** Counts calls of a day. */
export const countWrites = (
  parts: WrittenWith,
  { used, day, etags }: Snapshot,
  calls: number,
  now: number,
): readonly RowWrite[] => {
  if (calls === 0 || used === undefined) return [];
  const rowKey = dayRowKey(day);
  const etag = etags.get(rowKey);
  const write = writeOf(rowKey, etag, dayRows.propertiesOf({ calls: used + calls }));
  const expiry = dueKey(now + parts.retentionMs, { kind: 'expired_day', day });
  return etag === undefined ? [write, insertDue(expiry)] : [write];
};

/** The row of an open call may be gone, if it was taken for left over. */
export const isThere = ({ kind, rowKey }: RowWrite, lines: StoredLines | undefined): boolean =>
  (kind !== 'delete' && kind !== 'merge') || lines?.etags.has(rowKey) !== false;

/** Deletes a row. */
export const deleting = (rowKey: string): RowWrite => ({ kind: 'delete', rowKey });

/** Writes what is known of the lines, unless somebody else has since they were read: two refusals at once must not know of each other's call. */
export const lineWrites = ({ line, snapshot, lines = snapshot }: Beside): readonly RowWrite[] =>
  line === undefined
    ? []
    : [writeOf(LINE_KEY, lines?.etags.get(LINE_KEY), lineRows.propertiesOf({ lines: { ...line } }))];
