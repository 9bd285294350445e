import * as z from 'zod';

/** A notification's id. Newer ones sort before older ones, so that the newest are found first in the table. */
export type NotificationId = string & { readonly __brand: 'NotificationId' };

const PATTERN = /^[0-9a-f]{12}-[0-9a-f]{20}$/;

// 48 bits of milliseconds last until the year 10889.
const LATEST_MS = 2 ** 48 - 1;

export const isNotificationId = (text: string): text is NotificationId => PATTERN.test(text);

export const notificationIdSchema = z.custom<NotificationId>(
  (value) => typeof value === 'string' && isNotificationId(value),
);

/** The first characters of all ids of a millisecond. */
export const notificationIdPrefix = (at: number): string => (LATEST_MS - at).toString(16).padStart(12, '0');

/** @param now in milliseconds since 1970 */
export const newNotificationId = (now: number, uuid: string): NotificationId => {
  const id = `${notificationIdPrefix(now)}-${uuid.replaceAll('-', '').slice(-20)}`;
  if (!isNotificationId(id)) throw new RangeError('a time before 1970 or after the year 10889');
  return id;
};

/** The provider's id of a call, well-formed: safe in a URL's path and in a table's key. */
export type CallId = string & { readonly __brand: 'CallId' };

// Ids seen so far are GUIDs. Other opaque ids are accepted too, but nothing that could change the URL of a request about the
// call: no empty id, slash, percent sign or dots alone.
const CALL_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~=-]{0,199}$/;

const isCallId = (text: unknown): text is CallId => typeof text === 'string' && CALL_ID_PATTERN.test(text);

/** Text → call id; undefined if it is not well-formed: it must not get into the URL of a request. */
export const parseCallId = (text: unknown): CallId | undefined => (isCallId(text) ? text : undefined);

export const callIdSchema = z.custom<CallId>(isCallId);

/**
 * The attempt of a call. The call request carries it, and the provider returns it with every event. So any instance knows the recipient of a
 * call, even after a lost answer. The attempt's id is random; an event with another id changes nothing.
 */
export interface AttemptRef {
  readonly notificationId: NotificationId;
  readonly index: number;
  /** A UUID. */
  readonly attemptId: string;
}

/** A prompt of that attempt's call. */
export interface PromptRef extends AttemptRef {
  readonly prompt: PromptNumber;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * @example formatCallContext({ notificationId, index: 3, attemptId }) // 'fe5c…-81aa…/3/3f0c…e1'
 * @example formatCallContext({ notificationId, index: 3, attemptId, prompt: 9 }) // 'fe5c…-81aa…/3/3f0c…e1/9'
 */
export const formatCallContext = (ref: AttemptRef & Partial<PromptRef>): string => {
  const { notificationId, index, attemptId, prompt = MESSAGE } = ref;
  return `${notificationId}/${index}/${attemptId}${prompt === MESSAGE ? '' : `/${prompt}`}`;
};

/**
 * The attempt and the prompt in the context of an event; without a prompt it is the message. Undefined if the context is missing or has another form:
 * such a text must not get into logs and rows.
 */
export const parseCallContext = (
  text: unknown,
): { readonly attempt: AttemptRef; readonly prompt: PromptNumber } | undefined => {
  if (typeof text !== 'string') return undefined;
  const [notificationId = '', index = '', attemptId = '', number = `${MESSAGE}`, ...more] = text.split('/', 5);
  const prompt = /^\d$/.test(number) ? promptOf(Number(number)) : undefined;
  const isOurs = isNotificationId(notificationId) && /^\d{1,2}$/.test(index) && UUID.test(attemptId);
  return isOurs && prompt !== undefined && more.length === 0
    ? { attempt: { notificationId, index: Number(index), attemptId }, prompt }
    : undefined;
};

/** A prompt of a call: the message, its first and its second repeat, or one of the two goodbyes. A later prompt has a higher number. */
export type PromptNumber = (typeof PROMPTS)[number];

export const MESSAGE = 0;
/** How often the callee may hear the message again. */
export const MAX_REPEATS = 2;
export const GOODBYE_CANNOT_GO = 8;
/** Said to a callee who has confirmed, even after {@link GOODBYE_CANNOT_GO}. */
export const GOODBYE_CONFIRMED = 9;

export const PROMPTS = [MESSAGE, 1, MAX_REPEATS, GOODBYE_CANNOT_GO, GOODBYE_CONFIRMED] as const;

/** The prompt with a number that comes from outside; undefined if no prompt has it. */
export const promptOf = (number: number): PromptNumber | undefined => PROMPTS.find((prompt) => prompt === number);

/** Whether it is the message, or the message again. */
export const isMessage = (prompt: PromptNumber): boolean => prompt <= MAX_REPEATS;
