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
