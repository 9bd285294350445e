import { type NotificationId, timeOf } from '../model/ids.ts';

/** How people are called. Times are in milliseconds. */
export interface PhoneRules {
  /** Calls to one person at most, including calls without any report. Waiting for a free line costs no attempt. */
  readonly attempts: number;
  /** From the end of an attempt to the next attempt. */
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
 * The deadline of a notification's calls, in milliseconds since 1970. It follows from the id alone, without the row.
 */
export const deadlineOf = (id: NotificationId, { deadlineMs }: Pick<PhoneRules, 'deadlineMs'>): number =>
  timeOf(id) + deadlineMs;
