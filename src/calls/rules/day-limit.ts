/** Why somebody is not called. */
export const CALLS_USED_UP = 'the calls of this UTC day are used up: see CALLS_PER_DAY';

// Anomalies of a bad day must not use up the calls that a fire needs.
const KEPT_FOR_URGENT = 0.2;

/**
 * How many calls of a UTC day are left.
 *
 * @param used how many of the day's calls are counted already
 */
export const callsLeft = (used: number, callsPerDay: number, isUrgent: boolean): number =>
  Math.max(0, (isUrgent ? callsPerDay : callsPerDay - Math.floor(callsPerDay * KEPT_FOR_URGENT)) - used);

const DAY_MS = 86_400_000;

/** The UTC day of a time in milliseconds since 1970, as `2026-11-21`. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** When its UTC day ends, in milliseconds since 1970. */
export const endOfDay = (at: number): number => (Math.floor(at / DAY_MS) + 1) * DAY_MS;
