import { type CallId, parseCallId } from '../call-id.ts';
import { isNotificationId, type NotificationId } from '../notification-id.ts';
import { isFinal, type Recipient } from '../recipient-state.ts';
import type { KeyRange, RowChange } from './rows.ts';

/** Something that must be looked at when its time has come. */
export type Due = { readonly at: number; readonly rowKey: string } & DueSubject;

/**
 * What is due:
 * - `dial`: a recipient waits to be called;
 * - `look`: nothing was heard of a recipient's call;
 * - `notification`: a notification that is not completed;
 * - `call`: a line that belongs to no recipient;
 * - `expired_…`: rows that are kept no longer.
 */
export type DueSubject =
  | { readonly kind: 'dial' | 'look'; readonly notificationId: NotificationId; readonly index: number }
  | { readonly kind: 'notification' | 'expired_notification'; readonly notificationId: NotificationId }
  | { readonly kind: 'call' | 'expired_call'; readonly callId: CallId }
  | { readonly kind: 'expired_day'; readonly day: string };

const isoTime = (at: number): string => new Date(at).toISOString();

/**
 * The row key of something due: by time, so that what is due is one small range at the beginning.
 *
 * @example dueKey(at, { kind: 'dial', notificationId, index: 3 }) // 'due|2026-11-21T08:00:02.000Z|dial|fe5c…|3'
 */
export const dueKey = (at: number, subject: DueSubject): string => {
  const start = `due|${isoTime(at)}|${subject.kind}`;
  if ('callId' in subject) return `${start}|${subject.callId}`;
  if ('day' in subject) return `${start}|${subject.day}`;
  const index = 'index' in subject ? `|${String(subject.index).padStart(2, '0')}` : '';
  return `${start}|${subject.notificationId}${index}`;
};

/** The keys of all that is due at a time. */
export const dueUntil = (now: number): KeyRange => ({ from: 'due|', to: `due|${isoTime(now)}|~` });

/** A row key → what is due; undefined where it is not of that form. */
export const parseDueKey = (rowKey: string): Due | undefined => {
  const [, time = '', kind, id = '', index = '', ...more] = rowKey.split('|');
  const at = Date.parse(time);
  if (Number.isNaN(at) || more.length > 0) return undefined;
  switch (kind) {
    case 'dial':
    case 'look':
      return isNotificationId(id) && /^\d\d$/.test(index)
        ? { at, rowKey, kind, notificationId: id, index: Number(index) }
        : undefined;
    case 'notification':
    case 'expired_notification':
      return isNotificationId(id) ? { at, rowKey, kind, notificationId: id } : undefined;
    case 'call':
    case 'expired_call': {
      const callId = parseCallId(id);
      return callId === undefined ? undefined : { at, rowKey, kind, callId };
    }
    case 'expired_day':
      return { at, rowKey, kind, day: id };
    case undefined:
    default:
      return undefined;
  }
};

/** The entry of a recipient; undefined where it has none. */
export const dueKeyOf = (id: NotificationId, index: number, recipient: Recipient): string | undefined =>
  recipient.dueAt === undefined || isFinal(recipient)
    ? undefined
    : dueKey(recipient.dueAt, {
        kind: recipient.state === 'waiting' ? 'dial' : 'look',
        notificationId: id,
        index,
      });

/** Moves an entry: both rows change with the row that they are about, in one commit. */
export const moveDue = (from: string | undefined, to: string | undefined): readonly RowChange[] => {
  if (from === to) return [];
  return [
    ...(from === undefined ? [] : [{ kind: 'delete', rowKey: from } as const]),
    ...(to === undefined ? [] : [{ kind: 'insert', rowKey: to, values: {} } as const]),
  ];
};
