import { isNotificationId, type NotificationId } from './ids.ts';
import { MESSAGE, type SpeechNumber, speechOf } from './speech.ts';

/**
 * Which attempt to reach a recipient a call belongs to. The line is given it with the request to place the call, and returns it with
 * every event. So any instance knows the recipient of a call, even if the answer to that request was lost. The attempt's id is random;
 * an event with another id changes nothing about a recipient.
 */
export interface AttemptRef {
  readonly notificationId: NotificationId;
  /** Of the recipient in the notification. */
  readonly index: number;
  /** A UUID. */
  readonly attemptId: string;
}

/** A speech of that attempt's call. */
export interface SpeechRef extends AttemptRef {
  readonly speech: SpeechNumber;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @example formatCallContext({ notificationId, index: 3, attemptId }) // 'fe5c…-81aa…/3/3f0c…e1' */
export const formatCallContext = ({ notificationId, index, attemptId }: AttemptRef): string =>
  `${notificationId}/${index}/${attemptId}`;

/**
 * The context of a speech: the call's context, with the number of the speech if it is not the message.
 *
 * @example formatSpeechContext({ notificationId, index: 3, attemptId, speech: 9 }) // 'fe5c…-81aa…/3/3f0c…e1/9'
 */
export const formatSpeechContext = (ref: SpeechRef): string =>
  ref.speech === MESSAGE ? formatCallContext(ref) : `${formatCallContext(ref)}/${ref.speech}`;

/** What an event is about. */
export interface CallContext {
  readonly attempt: AttemptRef;
  /** The message where the context names no speech. */
  readonly speech: SpeechNumber;
}

/** An event's context; undefined where it is missing or in another form, which must not get into logs and rows. */
export const parseCallContext = (text: unknown): CallContext | undefined => {
  if (typeof text !== 'string') return undefined;
  const [notificationId = '', index = '', attemptId = '', number = `${MESSAGE}`, ...more] = text.split('/', 5);
  const speech = /^\d$/.test(number) ? speechOf(Number(number)) : undefined;
  const isOurs = isNotificationId(notificationId) && /^\d{1,2}$/.test(index) && UUID.test(attemptId);
  return isOurs && speech !== undefined && more.length === 0
    ? { attempt: { notificationId, index: Number(index), attemptId }, speech }
    : undefined;
};
