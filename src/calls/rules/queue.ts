import * as z from 'zod';

// The recipient that gets the next line: one rule for all recipients that wait, over all instances. Times are in milliseconds since 1970.

export interface Queued {
  /** Names the recipient: never the number, because the state of the lines outlives it. */
  readonly who: string;
  readonly number: string;
  readonly isUrgent: boolean;
  /** In the request. */
  readonly position: number;
  /** Since when; anew after a refusal. */
  readonly queuedAt: number;
  /** Not dialed before. */
  readonly dueAt: number;
}

/** A call of this service that is requested, ringing, speaking or hanging up. */
export interface OpenCall {
  readonly who: string;
  readonly number: string;
  readonly isUrgent: boolean;
  readonly claimedAt: number;
  readonly acceptedAt?: number | undefined;
  /** When a person or a machine answered. */
  readonly answeredAt?: number | undefined;
  readonly isEnding: boolean;
  /** Until when it holds its number and its line, if no further report arrives. */
  readonly heldUntil: number;
}

export type EndedCall = Pick<OpenCall, 'isUrgent' | 'claimedAt' | 'acceptedAt' | 'answeredAt'>;

export interface LineLimits {
  /** `CALLS_AT_ONCE`: open calls, over all instances. */
  readonly callsAtOnce: number;
  /** How many calls the account may start a second; undefined: no limit. */
  readonly callsPerSecond?: number | undefined;
}

export const queueStateSchema = z.object({
  /** No dialing before, and how many refusals in a row led to that. */
  pauseUntil: z.number().optional(),
  refusals: z.int().optional(),
  refused: z.string().optional(),
  /** The last definite refusal for lack of capacity. */
  sureAt: z.number().optional(),
  /** Recipients whose calls seem to have found no line, how many calls stayed open then, and when that was last. */
  suspects: z
    .array(z.object({ who: z.string(), stayed: z.int() }))
    .readonly()
    .optional(),
  suspectAt: z.number().optional(),
  /** Fewer calls than `CALLS_AT_ONCE` for a while. */
  limit: z.object({ calls: z.int(), until: z.number() }).optional(),
  /** Calls that ended a moment ago. */
  ended: z
    .array(z.object({ at: z.number(), isUrgent: z.boolean() }))
    .readonly()
    .optional(),
  /** A fault of the configuration: no dialing before `until`. The operator was told at `toldAt`. */
  fault: z.object({ until: z.number(), toldAt: z.number(), reason: z.string().optional() }).optional(),
  /** When the next call may start, if the account limits the calls that start per second. */
  nextAt: z.number().optional(),
});

export type QueueState = Readonly<z.output<typeof queueStateSchema>>;

/** A phone that rang for this time had a line, and its owner has heard it. A quicker decline may be the network's. */
export const RANG_MS = 6_000;
/** Networks release a line so late: an ended call still counts as open. */
const SETTLES_MS = 1_500;
/** Pauses after one, two, three … refusals in a row. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000] as const;
/** A line may ask for a longer pause, up to this. */
const LONGEST_ASKED_MS = 60_000;
/** This number of different recipients that are refused in a row shows that there are fewer lines than configured. */
const SUSPECTS = 3;
/** Refusals further apart are not in a row. */
const SUSPECT_FOR_MS = 60_000;
/** How long the lower number of calls holds. */
const LIMITED_FOR_MS = 600_000;
/** For this time after a definite refusal a network is expected to report the next refusal as definite. */
const SURE_FOR_MS = 3_600_000;
/** How many quick declines of a recipient cost no attempt. */
export const FREE_DECLINES = 2;
const FAULT_PAUSE_MS = 30_000;
/** How often the operator is told. */
const FAULT_TOLD_EVERY_MS = 600_000;
/** Several calls may be claimed in one check: no recipient waits for a timer. */
const START_TOLERANCE_MS = 200;

export type Next<Person> =
  | { readonly kind: 'dial'; readonly who: Person }
  /** Nothing until an event, or until then. */
  | { readonly kind: 'wait'; readonly until: number | undefined };

/** Urgent first; then one recipient of each notification before the second of any; then by waiting time. */
const byTurn = (one: Queued, other: Queued): number =>
  Number(other.isUrgent) - Number(one.isUrgent) || one.position - other.position || one.queuedAt - other.queuedAt;

export const callsAllowed = (
  { limit }: QueueState,
  { callsAtOnce }: Pick<LineLimits, 'callsAtOnce'>,
  now: number,
): number => (limit !== undefined && now < limit.until ? Math.min(callsAtOnce, limit.calls) : callsAtOnce);

const pausedUntil = ({ pauseUntil = 0, fault }: QueueState): number => Math.max(pauseUntil, fault?.until ?? 0);

/** The open calls that hold their line and their number now. */
export const heldNow = <Call extends OpenCall>(open: readonly Call[], now: number): readonly Call[] =>
  open.filter(({ heldUntil }) => now < heldUntil);

/**
 * Whom to dial now, or until when to wait.
 *
 * - At most `callsAtOnce` calls are open. Alerts that are not urgent leave one line free, if there are two or more.
 * - A number has one open call at a time. A recipient that waits for its number blocks no other.
 * - The most recently refused recipient lets another recipient of equal urgency go first.
 */
export const next = <Person extends Queued>(
  queue: readonly Person[],
  open: readonly OpenCall[],
  line: QueueState,
  limits: Pick<LineLimits, 'callsAtOnce'>,
  now: number,
): Next<Person> => {
  const held = heldNow(open, now);
  const inUse = new Set(held.map(({ number }) => number));
  const due = queue.filter(({ dueAt }) => dueAt <= now);
  const settling = (line.ended ?? []).filter(({ at }) => now < at + SETTLES_MS);
  const later = queue.flatMap(({ dueAt }) => (dueAt > now ? dueAt : []));
  const wait = (...until: readonly number[]): Next<Person> => {
    const earliest = Math.min(...later, ...until);
    return { kind: 'wait', until: Number.isFinite(earliest) ? earliest : undefined };
  };
  const inTurn = afterRefused(due.filter(({ number }) => !inUse.has(number)).sort(byTurn), line.refused);
  const releases = due.length === 0 ? [] : held.map(({ heldUntil }) => heldUntil);
  if (inTurn.length === 0) return wait(...releases);
  const startsAt = Math.max(pausedUntil(line), (line.nextAt ?? 0) - START_TOLERANCE_MS);
  if (now < startsAt) return wait(startsAt);
  const most = callsAllowed(line, limits, now);
  const taken = [...held, ...settling];
  const takenByOthers = taken.filter(({ isUrgent }) => !isUrgent).length;
  const who =
    taken.length < most ? inTurn.find(({ isUrgent }) => isUrgent || takenByOthers < Math.max(1, most - 1)) : undefined;
  if (who !== undefined) return { kind: 'dial', who };
  const limitEnds = line.limit !== undefined && now < line.limit.until ? [line.limit.until] : [];
  return wait(...releases, ...settling.map(({ at }) => at + SETTLES_MS), ...limitEnds);
};

const afterRefused = <Person extends Queued>(
  inTurn: readonly Person[],
  refused: string | undefined,
): readonly Person[] => {
  const [first, second, ...rest] = inTurn;
  const isPassed = first?.who === refused && second !== undefined && second.isUrgent === first?.isUrgent;
  return isPassed && first !== undefined ? [second, first, ...rest] : inTurn;
};

/** Why a recipient waits whose number could be dialed now. */
export const waitsFor = (
  one: Queued,
  open: readonly OpenCall[],
  line: QueueState,
  now: number,
): 'redial' | 'number' | 'set_up' | 'pause' | 'line' => {
  if (one.dueAt > now) return 'redial';
  if (heldNow(open, now).some(({ who, number }) => who !== one.who && number === one.number)) return 'number';
  if (now < (line.fault?.until ?? 0)) return 'set_up';
  return now < (line.pauseUntil ?? 0) ? 'pause' : 'line';
};

/** The lines after a claim. */
export const afterClaim = (line: QueueState, { callsPerSecond }: Partial<LineLimits>, now: number): QueueState => ({
  ...line,
  refused: undefined,
  nextAt: callsPerSecond === undefined ? undefined : Math.max(now, line.nextAt ?? 0) + 1_000 / callsPerSecond,
});

/** The lines after the line accepted a call: the pause is over. The same object if nothing changed. */
export const afterAccepted = (line: QueueState): QueueState =>
  line.pauseUntil === undefined && line.refusals === undefined
    ? line
    : { ...line, pauseUntil: undefined, refusals: undefined };

/** The lines after an accepted call ended: the pause is over, and its line is free a moment later. */
export const afterEnd = (line: QueueState, call: EndedCall, now: number): QueueState => ({
  ...afterAccepted(line),
  ended: [...(line.ended ?? []).filter(({ at }) => now < at + SETTLES_MS), { at: now, isUrgent: call.isUrgent }],
  ...(clearsSuspects(call, line, now) ? { suspects: undefined, suspectAt: undefined } : {}),
});

/** Whether a call that was claimed after the last suspicion surely had a line. */
const clearsSuspects = (
  { claimedAt, acceptedAt, answeredAt }: EndedCall,
  { suspectAt = Infinity }: QueueState,
  now: number,
): boolean =>
  claimedAt > suspectAt && (answeredAt !== undefined || (acceptedAt !== undefined && now - acceptedAt >= RANG_MS));

export interface Refusal {
  readonly who: string;
  /** Refused because of missing capacity. Otherwise the line could not even be reached, which tells nothing of how it refuses. */
  readonly isSure: boolean;
  readonly waitMs?: number | undefined;
}

/** The lines after a call request was refused. @param open the other open calls */
export const afterRefusal = (
  line: QueueState,
  { who, isSure, waitMs = 0 }: Refusal,
  open: readonly OpenCall[],
  now: number,
): QueueState => {
  const refusals = (line.refusals ?? 0) + 1;
  const pauseMs = PAUSES_MS[Math.min(refusals, PAUSES_MS.length) - 1] ?? 0;
  const pauseUntil = now + Math.max(pauseMs, Math.min(LONGEST_ASKED_MS, waitMs));
  const paused = { ...line, refusals, pauseUntil, refused: who };
  return isSure ? suspecting({ ...paused, sureAt: now }, who, open, now) : paused;
};

/** A call that the callee, or the network, declined. */
export interface Declined {
  readonly acceptedAt: number;
  readonly endedAt: number;
  /** How many other calls were open when it was claimed. */
  readonly openThen: number;
}

/** Whether a decline may be the network's: it has the codes of a callee who declines. */
export const isQuickDecline = ({ acceptedAt, endedAt, openThen }: Declined): boolean =>
  endedAt - acceptedAt < RANG_MS && openThen > 0;

/** The lines after a quick decline. A network that reports its refusals lately is not suspected. @param open the other open calls */
export const afterQuickDecline = (line: QueueState, who: string, open: readonly OpenCall[], now: number): QueueState =>
  now - (line.sureAt ?? -Infinity) < SURE_FOR_MS ? line : suspecting(line, who, open, now);

/** When enough recipients in a row found no line, no more calls are open than stayed open then. */
const suspecting = (line: QueueState, who: string, open: readonly OpenCall[], now: number): QueueState => {
  const isInRow =
    now - (line.suspectAt ?? -Infinity) <= SUSPECT_FOR_MS && !open.some((call) => clearsSuspects(call, line, now));
  const stayed = open.filter(({ acceptedAt, isEnding }) => acceptedAt !== undefined && !isEnding).length;
  const before = isInRow ? (line.suspects ?? []).filter((one) => one.who !== who) : [];
  const suspects = [...before, { who, stayed }];
  if (suspects.length < SUSPECTS || stayed === 0) return { ...line, suspects, suspectAt: now };
  const calls = line.limit !== undefined && now < line.limit.until ? Math.min(line.limit.calls, stayed) : stayed;
  return { ...line, suspects: undefined, suspectAt: now, limit: { calls, until: now + LIMITED_FOR_MS } };
};

/** The lines after a fault of the configuration. Dialing pauses for a while; `toldAt` changes if an alert must tell the operator. */
export const afterFault = (line: QueueState, reason: string | undefined, now: number): QueueState => {
  const { toldAt = -Infinity } = line.fault ?? {};
  const isToTell = now - toldAt >= FAULT_TOLD_EVERY_MS;
  return { ...line, fault: { until: now + FAULT_PAUSE_MS, toldAt: isToTell ? now : toldAt, reason } };
};
