import * as z from 'zod';
import { isPossible, type PhoneNumber } from '../model/phone-number.ts';

/** How people are called. Times are in milliseconds. */
export interface PhoneRules {
  /** Calls to one person at most, including calls without any report. Waiting for a free line costs no attempt. */
  readonly attempts: number;
  /** From the end of an attempt to the next attempt. */
  readonly retryMs: number;
  /** From a request to its last attempt. */
  readonly deadlineMs: number;
  readonly ringMs: number;
  /** The prefixes of numbers that may be called; undefined: all numbers may be called. */
  readonly allowedPrefixes: readonly string[] | undefined;
  /** The maximum number of calls of a UTC day; a fifth of them is kept for urgent alert types. */
  readonly callsPerDay: number;
  /** Open calls, over all instances. */
  readonly callsAtOnce: number;
  readonly retentionMs: number;
}

export const notCallableSchema = z.enum(['impossible_number', 'not_allowed', 'day_limit']);

export type NotCallable = z.output<typeof notCallableSchema>;

export const CALLS_USED_UP = 'CALLS_PER_DAY is reached for this UTC day';

export const NOT_CALLABLE: Readonly<Record<NotCallable, string>> = {
  impossible_number: 'there is no such number: check its length, and for a 0 after the country code',
  not_allowed: 'this number may not be called: see PHONE_ALLOWED_PREFIXES',
  day_limit: CALLS_USED_UP,
};

/** Why a number is never called. @param prefixes of numbers that may be called; undefined: all numbers may be called */
export const whyNotCallable = (
  number: PhoneNumber,
  prefixes: readonly string[] | undefined,
): Exclude<NotCallable, 'day_limit'> | undefined => {
  if (!isPossible(number)) return 'impossible_number';
  return (prefixes?.some((prefix) => number.startsWith(prefix)) ?? true) ? undefined : 'not_allowed';
};

/** How many people of a notification in waves have to confirm if the request does not say. */
export const DEFAULT_CONFIRMATIONS_NEEDED = 1;

export const areEnough = (confirmations: number, needed = DEFAULT_CONFIRMATIONS_NEEDED): boolean =>
  confirmations >= needed;

/** Anomalies of a bad day must not use up the calls that a fire needs. */
const KEPT_FOR_URGENT = 0.2;

/** The calls of a UTC day. Each claim counts as a call. */
export interface DayCalls {
  /** As `2026-11-21`. */
  readonly day: string;
  readonly calls: number;
}

export const callsLeft = (used: DayCalls | undefined, callsPerDay: number, isUrgent: boolean, now: number): number => {
  const most = isUrgent ? callsPerDay : callsPerDay - Math.floor(callsPerDay * KEPT_FOR_URGENT);
  return Math.max(0, most - callsOf(used, now));
};

const callsOf = (used: DayCalls | undefined, now: number): number => (used?.day === dayOf(now) ? used.calls : 0);

/** The calls of the day with one more, or with one less: the claimed call was refused. */
export const counted = (used: DayCalls | undefined, calls: 1 | -1, now: number): DayCalls => ({
  day: dayOf(now),
  calls: Math.max(0, callsOf(used, now) + calls),
});

const DAY_MS = 86_400_000;

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** When the UTC day of a time ends, in milliseconds since 1970. */
export const endOfDay = (at: number): number => (Math.floor(at / DAY_MS) + 1) * DAY_MS;
