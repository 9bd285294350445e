import type { KeyRange } from '../../storage/row.ts';
import { isNotificationId, type NotificationId, notificationIdPrefix } from '../model/ids.ts';

/**
 * The partition of everything about calls: one, so that what belongs together changes in one transaction. A partition takes about 2,000
 * rows a second; `CALLS_PER_DAY` keeps this one far below.
 */
export const CALLS = 'notifications';

/** The row key of a notification. */
export const notificationKey = (id: NotificationId): string => `notification|${id}`;

/** The row key of one of its recipients. */
export const recipientKey = (id: NotificationId, index: number): string =>
  `notification|${id}|${String(index).padStart(2, '0')}`;

/** The index of a recipient's row key; undefined of a notification's own. */
export const indexOf = (rowKey: string): number | undefined => {
  const [, , index] = rowKey.split('|');
  return index === undefined ? undefined : Number(index);
};

/** A notification's row and those of its recipients. */
export const notificationRange = (id: NotificationId): KeyRange => ({
  from: notificationKey(id),
  before: `${notificationKey(id)}|~`,
});

/** Those of requests, the newest first; foreign calls come after them. */
export const ALL_NOTIFICATIONS: KeyRange = { from: 'notification|', before: 'notification|ffffffffffff' };

const ATTENTION = 'attention|';

/** The row key of a notification that has reached too few people. */
export const attentionKey = (id: NotificationId): string => `${ATTENTION}${id}`;

/** The notifications that have reached too few people and were created since a time, the newest first. */
export const attentionSince = (at: number): KeyRange => ({
  from: ATTENTION,
  before: `${ATTENTION}${notificationIdPrefix(at)}~`,
});

/** The row key of such a notification → its id; undefined if it is not of that form. */
export const parseAttentionKey = (rowKey: string): NotificationId | undefined => {
  const id = rowKey.slice(ATTENTION.length);
  return rowKey.startsWith(ATTENTION) && isNotificationId(id) ? id : undefined;
};

// The id is made before the row, and a request may take some seconds to be written.
const ID_IS_EARLIER_MS = 60_000;

/** Which notifications of requests, in milliseconds since 1970. */
export interface NotificationsQuery {
  /** Those after this one, of which the newest come first. */
  readonly after?: NotificationId | undefined;
  /** Created then or later, or a little earlier. */
  readonly since?: number | undefined;
  /** Created then or earlier. */
  readonly until?: number | undefined;
}

/** Notifications of requests, the newest first. */
export const notificationsIn = ({ after, since, until }: NotificationsQuery): KeyRange => ({
  from:
    after !== undefined
      ? `${notificationKey(after)}|~`
      : until !== undefined
        ? `notification|${notificationIdPrefix(until)}`
        : ALL_NOTIFICATIONS.from,
  before:
    since === undefined
      ? ALL_NOTIFICATIONS.before
      : `notification|${notificationIdPrefix(Math.max(0, since - ID_IS_EARLIER_MS))}~`,
});

/** The row key of an `Idempotency-Key`, hashed: not all of its characters may stand in a row key. */
export const idempotencyRowKey = (keyHash: string): string => `key|${keyHash}`;

/** The row key of a day's calls. */
export const dayRowKey = (day: string): string => `day|${day}`;

/** What is known of the lines. It sorts before all that is due. */
export const LINE_KEY = 'due|!line';

const OPEN = 'due|!open|';

/** The row of the open call to a number: its insert is the lock of the number. @param number its hash */
export const openKey = (number: string): string => `${OPEN}${number}`;

/** The row key of an open call → the hash of its number; undefined if it is not of that form. */
export const parseOpenKey = (rowKey: string): string | undefined =>
  rowKey.startsWith(OPEN) ? rowKey.slice(OPEN.length) : undefined;

/** The first key of what is due: before it are the days, the lines and the open calls. */
export const FIRST_DUE = 'due|"';

/** What is known of the lines, and the open calls. */
export const LINES: KeyRange = { from: 'due|!', before: FIRST_DUE };

/**
 * What is due:
 * - `dial`, `dial_urgent`: a recipient waits to be called; without an index, some of the notification wait for their first call;
 * - `look`: nothing was heard of a recipient's call, which may be ringing or open;
 * - `notification`: the claims of its first calls have run out, or its next wave is due;
 * - `publish`: outcomes that others are to be told of;
 * - `expired_…`: rows that are kept no longer.
 */
export type DueSubject =
  | {
      readonly kind: 'dial' | 'dial_urgent';
      readonly notificationId: NotificationId;
      readonly index?: number | undefined;
    }
  | { readonly kind: 'look'; readonly notificationId: NotificationId; readonly index: number }
  | { readonly kind: 'notification' | 'expired_notification'; readonly notificationId: NotificationId }
  | { readonly kind: 'publish'; readonly notificationId: NotificationId; readonly batch: string }
  | { readonly kind: 'expired_day'; readonly day: string };

/** Something that must be looked at when its time has come, in milliseconds since 1970. */
export type DueKey = { readonly at: number; readonly rowKey: string } & DueSubject;

const isoTime = (at: number): string => new Date(at).toISOString();

/**
 * The row key of something due: by time, so that what is due is one small range.
 *
 * @example dueKey(at, { kind: 'dial', notificationId, index: 3 }) // 'due|2026-11-21T08:00:02.000Z|dial|fe5c…|03'
 */
export const dueKey = (at: number, subject: DueSubject): string => {
  const start = `due|${isoTime(at)}|${subject.kind}`;
  if ('day' in subject) return `${start}|${subject.day}`;
  if ('batch' in subject) return `${start}|${subject.notificationId}|${subject.batch}`;
  const index = 'index' in subject && subject.index !== undefined ? `|${String(subject.index).padStart(2, '0')}` : '';
  return `${start}|${subject.notificationId}${index}`;
};

/** The keys of a day's calls, of the lines, the open calls, and all that is due until a time. */
export const dueUntil = (day: string, until: number): KeyRange => ({
  from: dayRowKey(day),
  before: `due|${isoTime(until)}|~`,
});

/** A row key → what is due; undefined if it is not of that form. */
export const parseDueKey = (rowKey: string): DueKey | undefined => {
  const [, time = '', kind, id = '', rest = '', ...more] = rowKey.split('|');
  const at = Date.parse(time);
  if (Number.isNaN(at) || more.length > 0) return undefined;
  if (kind === 'expired_day') return { at, rowKey, kind, day: id };
  if (!isNotificationId(id)) return undefined;
  switch (kind) {
    case 'dial':
    case 'dial_urgent':
      return rest === '' || /^\d\d$/.test(rest)
        ? { at, rowKey, kind, notificationId: id, index: rest === '' ? undefined : Number(rest) }
        : undefined;
    case 'look':
      return /^\d\d$/.test(rest) ? { at, rowKey, kind, notificationId: id, index: Number(rest) } : undefined;
    case 'notification':
    case 'expired_notification':
      return { at, rowKey, kind, notificationId: id };
    case 'publish':
      return { at, rowKey, kind, notificationId: id, batch: rest };
    case undefined:
    default:
      return undefined;
  }
};
