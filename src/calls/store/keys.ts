import type { KeyRange } from '../../storage/row.ts';
import { isNotificationId, type NotificationId, notificationIdPrefix } from '../model/ids.ts';

/**
 * The partition of everything about calls: one, so that what belongs together changes in one transaction. A partition takes about 2,000
 * rows a second; `CALLS_PER_DAY` keeps this one far below.
 */
export const CALLS = 'notifications';

const START = 'notification|';
/** After the last id, which is hexadecimal. */
const END = `${START}g`;

/** What all instances share beside the notifications. It sorts before all of them, so one query reads both. */
export const LINES_KEY = `${START}!line`;

/** The row key of a notification. */
export const notificationKey = (id: NotificationId): string => `${START}${id}`;

/** The row key of an `Idempotency-Key`, hashed: not all of its characters may stand in a row key. */
export const idempotencyRowKey = (keyHash: string): string => `key|${keyHash}`;

/** The id of a notification's row key; undefined if it is none. */
export const idOf = (rowKey: string): NotificationId | undefined => {
  const id = rowKey.slice(START.length);
  return rowKey.startsWith(START) && isNotificationId(id) ? id : undefined;
};

/** An id is made before its row, and a request may take some seconds to be stored. */
const ID_IS_EARLIER_MS = 60_000;

const upTo = (at: number): string => `${START}${notificationIdPrefix(Math.max(0, at - ID_IS_EARLIER_MS))}~`;

/** The lines, and the notifications that were created since a time in milliseconds since 1970; undefined: all. */
export const linesAndNotifications = (since: number | undefined): KeyRange => ({
  from: LINES_KEY,
  before: since === undefined ? END : upTo(since),
});

/** Which notifications, in milliseconds since 1970. */
export interface NotificationsQuery {
  /** Those after this one, of which the newest come first. */
  readonly after?: NotificationId | undefined;
  /** Created then or later, or a little earlier. */
  readonly since?: number | undefined;
  /** Created then or earlier. */
  readonly until?: number | undefined;
}

/** Notifications, the newest first. */
export const notificationsIn = ({ after, since, until }: NotificationsQuery): KeyRange => ({
  from:
    after !== undefined
      ? `${notificationKey(after)}~`
      : `${START}${until === undefined ? '0' : notificationIdPrefix(until)}`,
  before: since === undefined ? END : upTo(since),
});

/** The notifications that were created before a time in milliseconds since 1970. */
export const notificationsBefore = (at: number): KeyRange => ({
  from: `${START}${notificationIdPrefix(at)}~`,
  before: END,
});
