/** Why a recipient is not called today. */
export const CALLS_USED_UP = 'the calls of this UTC day are used up: see CALLS_PER_DAY';

/** Anomalies of a bad day must not use up the calls that a fire needs. */
const KEPT_FOR_URGENT = 0.2;

/** The calls of a UTC day. Each claim counts as a call. */
export interface DayCalls {
  /** As `2026-11-21`. */
  readonly day: string;
  readonly calls: number;
}

/** How many calls are left of the UTC day of `now`. */
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
