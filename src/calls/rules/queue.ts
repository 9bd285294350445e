import type { Pauses } from './pauses.ts';
import type { PhoneRules } from './policy.ts';

// The recipient that gets the next line: one rule for all recipients that wait, over all instances. Times are in milliseconds since 1970.

export interface Queued {
  /** Names the recipient: never the number, because the row of the lines outlives it. */
  readonly who: string;
  /** The hash of the number. */
  readonly number: string;
  readonly isUrgent: boolean;
  /** An earlier attempt has called it. */
  readonly isCalledAgain: boolean;
  /** In the request. */
  readonly position: number;
  /** The start of the wait. A refusal starts it again. */
  readonly queuedAt: number;
  /** The recipient is not dialed before. */
  readonly dueAt: number;
}

/** A call has taken one of `CALLS_AT_ONCE` lines, and a number, until a time. */
export interface Slot {
  readonly who: string;
  readonly number: string;
  readonly until: number;
}

/** Several calls may be claimed in one turn: no recipient waits for a timer. */
const START_TOLERANCE_MS = 200;

export type Next<Person> =
  | { readonly kind: 'dial'; readonly recipient: Person }
  /** Dial no recipient until the next event, or until this time. */
  | { readonly kind: 'wait'; readonly until: number | undefined };

/**
 * Urgent first; then recipients that have not been called yet before recipients that are called again; then one recipient of each notification
 * before the second of any. Then the waiting time decides, and last the name, so that all instances agree.
 */
const byTurn = (one: Queued, other: Queued): number =>
  Number(other.isUrgent) - Number(one.isUrgent) ||
  Number(one.isCalledAgain) - Number(other.isCalledAgain) ||
  one.position - other.position ||
  one.queuedAt - other.queuedAt ||
  (one.who < other.who ? -1 : 1);

const takenNow = (slots: readonly Slot[], now: number): readonly Slot[] => slots.filter(({ until }) => now < until);

/**
 * Whom to dial now, or until when to wait.
 *
 * - At most `callsAtOnce` lines are taken. With two lines or more, an alert that is not urgent is dialed only if a line stays free after it.
 * - A number has one open call at a time. A recipient that waits for its number blocks no other.
 * - The most recently refused recipient lets another recipient of equal urgency go first.
 */
export const next = <Person extends Queued>(
  queue: readonly Person[],
  slots: readonly Slot[],
  pauses: Pauses,
  { callsAtOnce }: Pick<PhoneRules, 'callsAtOnce'>,
  now: number,
): Next<Person> => {
  const taken = takenNow(slots, now);
  const inUse = new Set(taken.map(({ number }) => number));
  const due = queue.filter(({ dueAt }) => dueAt <= now);
  const later = queue.flatMap(({ dueAt }) => (dueAt > now ? dueAt : []));
  const wait = (...until: readonly number[]): Next<Person> => {
    const earliest = Math.min(...later, ...until);
    return { kind: 'wait', until: Number.isFinite(earliest) ? earliest : undefined };
  };
  const inTurn = withRefusedSecond(due.filter(({ number }) => !inUse.has(number)).sort(byTurn), pauses.refusedLast);
  const releases = due.length === 0 ? [] : taken.map(({ until }) => until);
  if (inTurn.length === 0) return wait(...releases);
  const startsAt = Math.max(pausedUntil(pauses), (pauses.nextStartAt ?? 0) - START_TOLERANCE_MS);
  if (now < startsAt) return wait(startsAt);
  const leftAfter = callsAtOnce - taken.length - 1;
  const leftForUrgent = callsAtOnce > 1 ? 1 : 0;
  const recipient = inTurn.find(({ isUrgent }) => leftAfter >= (isUrgent ? 0 : leftForUrgent));
  return recipient === undefined ? wait(...releases) : { kind: 'dial', recipient };
};

/** No recipient is dialed before. */
export const pausedUntil = ({ pauseUntil = 0, fault }: Pauses): number => Math.max(pauseUntil, fault?.until ?? 0);

const withRefusedSecond = <Person extends Queued>(
  inTurn: readonly Person[],
  refused: string | undefined,
): readonly Person[] => {
  const [first, second, ...rest] = inTurn;
  const isPassed = first?.who === refused && second !== undefined && second.isUrgent === first?.isUrgent;
  return isPassed && first !== undefined ? [second, first, ...rest] : inTurn;
};

/** Why a due recipient waits. */
export const waitsFor = (
  recipient: Queued,
  slots: readonly Slot[],
  { fault, pauseUntil = 0 }: Pauses,
  now: number,
): 'number' | 'set_up' | 'pause' | 'line' => {
  if (takenNow(slots, now).some(({ who, number }) => who !== recipient.who && number === recipient.number))
    return 'number';
  if (now < (fault?.until ?? 0)) return 'set_up';
  return now < pauseUntil ? 'pause' : 'line';
};
