import * as z from 'zod';

// When no call is dialed, over all instances: after refusals, after a fault of our set-up, and by the pace of the account. Times are in
// milliseconds since 1970.

export const pausesSchema = z.object({
  /** No call is dialed before `pauseUntil`, because of this number of refusals in a row. */
  pauseUntil: z.number().optional(),
  refusals: z.int().optional(),
  /** The recipient whose call request was refused last. */
  refusedLast: z.string().optional(),
  /** A fault of our set-up: no dialing before `until`. The operator was told at `toldAt`. */
  fault: z.object({ until: z.number(), toldAt: z.number(), reason: z.string().optional() }).optional(),
  /** When the next call may start, if the account limits the calls that start per second. */
  nextStartAt: z.number().optional(),
});

export type Pauses = Readonly<z.output<typeof pausesSchema>>;

/** Pauses after one, two, three … refusals in a row. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000] as const;
/** A provider may ask for a longer pause, up to this. */
const MAX_ASKED_MS = 60_000;
const FAULT_PAUSE_MS = 30_000;
/** How often the operator is told. */
const FAULT_TOLD_EVERY_MS = 600_000;

/** After a claim. @param callsPerSecond of the account; undefined: no limit */
export const afterClaim = <State extends Pauses>(
  state: State,
  callsPerSecond: number | undefined,
  now: number,
): State => ({
  ...state,
  refusedLast: undefined,
  nextStartAt:
    callsPerSecond === undefined ? undefined : Math.max(now, state.nextStartAt ?? 0) + 1_000 / callsPerSecond,
});

/** After the provider accepted a call, or an accepted call ended: the pause is over. The same object if nothing changed. */
export const afterAccepted = <State extends Pauses>(state: State): State =>
  state.pauseUntil === undefined && state.refusals === undefined
    ? state
    : { ...state, pauseUntil: undefined, refusals: undefined };

/** After a call request was refused for lack of capacity. @param askedMs how long the provider asked to wait */
export const afterRefusal = <State extends Pauses>(state: State, who: string, askedMs: number, now: number): State => {
  const refusals = (state.refusals ?? 0) + 1;
  const pauseMs = PAUSES_MS[Math.min(refusals, PAUSES_MS.length) - 1] ?? 0;
  const pauseUntil = now + Math.max(pauseMs, Math.min(MAX_ASKED_MS, askedMs));
  return { ...state, refusals, pauseUntil, refusedLast: who };
};

/** After a fault of our set-up. `toldAt` changes if an alert must tell the operator. */
export const afterFault = <State extends Pauses>(state: State, reason: string | undefined, now: number): State => {
  const { toldAt = -Infinity } = state.fault ?? {};
  const isToTell = now - toldAt >= FAULT_TOLD_EVERY_MS;
  return { ...state, fault: { until: now + FAULT_PAUSE_MS, toldAt: isToTell ? now : toldAt, reason } };
};
