import { isNotificationId, type NotificationId } from './notification-id.ts';

/**
 * Which attempt to reach a recipient a call belongs to. The line is given it with the request to place the call, and returns it with
 * every event: so any instance knows whom a call was for, also where the answer to that request was lost. The attempt's id is random;
 * an event with another one changes nothing about a recipient.
 */
export interface AttemptRef {
  readonly notificationId: NotificationId;
  /** Of the recipient in the notification. */
  readonly index: number;
  /** A UUID. */
  readonly attemptId: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @example formatCallContext({ notificationId, index: 3, attemptId }) // 'fe5c…-81aa…/3/3f0c…e1' */
export const formatCallContext = ({ notificationId, index, attemptId }: AttemptRef): string =>
  `${notificationId}/${index}/${attemptId}`;

/** An event's context; undefined where it is missing or in another form, which must not get into logs and rows. */
export const parseCallContext = (text: unknown): AttemptRef | undefined => {
  if (typeof text !== 'string') return undefined;
  const [notificationId = '', index = '', attemptId = '', ...more] = text.split('/', 4);
  return isNotificationId(notificationId) && /^\d{1,2}$/.test(index) && UUID.test(attemptId) && more.length === 0
    ? { notificationId, index: Number(index), attemptId }
    : undefined;
};
