import * as z from 'zod';

/** A notification's id. Newer ones sort before older ones, so that the newest are found first in the table. */
export type NotificationId = string & { readonly __brand: 'NotificationId' };

const PATTERN = /^[0-9a-f]{12}-[0-9a-f]{20}$/;

// 48 bits of milliseconds last until the year 10889.
const LATEST_MS = 2 ** 48 - 1;

/** Whether a text has the form of a notification's id. */
export const isNotificationId = (text: string): text is NotificationId => PATTERN.test(text);

/** A notification's id in a row. */
export const notificationIdSchema = z.custom<NotificationId>(
  (value) => typeof value === 'string' && isNotificationId(value),
);

/** How the ids of a millisecond begin. */
export const notificationIdPrefix = (at: number): string => (LATEST_MS - at).toString(16).padStart(12, '0');

/**
 * A new id.
 *
 * @param now in milliseconds since 1970
 * @param uuid a new one
 */
export const newNotificationId = (now: number, uuid: string): NotificationId => {
  const id = `${notificationIdPrefix(now)}-${uuid.replaceAll('-', '').slice(-20)}`;
  if (!isNotificationId(id)) throw new RangeError('a time before 1970 or after the year 10889');
  return id;
};

/** When a notification was made, in milliseconds since 1970. */
export const timeOf = (id: NotificationId): number => LATEST_MS - Number.parseInt(id.slice(0, 12), 16);

/** The line's id of a call, well-formed: safe in a URL's path and in a table's key. */
export type CallId = string & { readonly __brand: 'CallId' };

// Ids seen so far are GUIDs. Other opaque ids are accepted too, but nothing that could change the URL of a request about the
// call: no empty id, slash, percent sign or dots alone.
const CALL_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~=-]{0,199}$/;

const isCallId = (text: string): text is CallId => CALL_ID_PATTERN.test(text);

/** Text → call id; undefined where it is not well-formed, and then no request may be made about it. */
export const parseCallId = (text: unknown): CallId | undefined =>
  typeof text === 'string' && isCallId(text) ? text : undefined;

/** A call's id in a row. */
export const callIdSchema = z.custom<CallId>((value) => parseCallId(value) !== undefined);
