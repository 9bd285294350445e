import { type NotificationId, timeOf } from '../model/ids.ts';

/** How people are called. Times are in milliseconds. */
export interface PhoneRules {
  /** Calls to one person at most, those included of which nothing was heard. Waiting for a free line costs none. */
  readonly attempts: number;
  /** From the end of an attempt to the next one. */
  readonly retryMs: number;
  /** From a request to its last attempt. */
  readonly deadlineMs: number;
  /** How long a phone rings before the line is hung up. */
  readonly ringMs: number;
  /** How the numbers that may be called begin; undefined: all of them. */
  readonly allowedPrefixes: readonly string[] | undefined;
  /** Of a UTC day; a fifth of them is kept for urgent alert types. */
  readonly callsPerDay: number;
  /** How many calls are open at once, over all instances. */
  readonly callsAtOnce: number;
  /** How long rows about calls are kept. */
  readonly retentionMs: number;
}

/**
 * When nobody of a notification is dialled any more, in milliseconds since 1970: it follows from the id alone, so that who waits is known to be
 * late without the row. Whoever finds somebody late and whoever gives them up must go by this one rule.
 */
export const deadlineOf = (id: NotificationId, { deadlineMs }: Pick<PhoneRules, 'deadlineMs'>): number =>
  timeOf(id) + deadlineMs;
