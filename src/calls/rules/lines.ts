import * as z from 'zod';

import { extensible } from '../model/stored.ts';

/** A call of ours that has been requested and is not over. Times are in milliseconds since 1970. */
export interface OpenCall {
  /** The hash of its number. */
  readonly number: string;
  readonly isUrgent: boolean;
  /** When it was claimed, or first seen by this instance: the clocks of two instances differ. */
  readonly sentAt: number;
  /** When the line accepted it. */
  readonly acceptedAt?: number | undefined;
  /** When somebody answered. */
  readonly connectedAt?: number | undefined;
  /** When it was first asked to hang up. */
  readonly hangUpAt?: number | undefined;
  /** When it is looked at if nothing is heard: the end of its ringing, or of its longest speech. */
  readonly lookAt?: number | undefined;
}

const faultSchema = extensible({
  /** The hash of the number that met it last. */
  number: z.string(),
  at: z.number(),
  /** Believed to be ours: until then only urgent calls are tried. */
  until: z.number().optional(),
  /** In words. */
  reason: z.string().optional(),
});

/** Somebody could not be called, perhaps because of our set-up. */
export type Fault = Readonly<z.output<typeof faultSchema>>;

/** What is known of the lines, as it is stored. */
export const lineStateSchema = extensible({
  /** How many there seem to be; undefined: no limit is known. */
  known: z.number().optional(),
  /** When a call was refused last because no line was free, and when that was beyond doubt. */
  refusedAt: z.number().optional(),
  sureAt: z.number().optional(),
  /** The hash of the number whose call was refused last. */
  refused: z.string().optional(),
  /** When one more than is known may be tried, and how long the pause before it was, in milliseconds. */
  probeAt: z.number().optional(),
  probeMs: z.number().optional(),
  /** When the next call may start, if the account may start only so many a second. */
  nextAt: z.number().optional(),
  /** The last fault that may be of our set-up, and the last callee who answered and could not be spoken to; see `whose-fault.ts`. */
  fault: faultSchema.optional(),
  silence: faultSchema.optional(),
  /** When an operator was told last that a call was forbidden. */
  forbiddenAt: z.number().optional(),
});

/** What is known of the lines, for all instances. Times are in milliseconds since 1970. */
export type LineState = Readonly<z.output<typeof lineStateSchema>>;

/** A phone that rings for so long has a line, and its owner has heard it: sooner a decline may be the network's. */
export const PROVEN_AFTER_MS = 6_000;
/** How long what was learnt of the lines is believed. */
export const BELIEVED_MS = 3_600_000;
/** A callee who declined is not rung again sooner: it may have been a person after all. */
export const AFTER_DECLINE_MS = 2_000;
/** How often a soon decline costs nobody an attempt where a line seemed free, and how often in all. */
export const MOST_FREE_DECLINES = 3;
export const MOST_REFUSALS = 4;
const FIRST_PROBE_MS = 1_000;
const LONGEST_PROBE_MS = 15_000;
// A line may ask for more; the end of a call frees one all the same.
const LONGEST_ASKED_MS = 60_000;
// Many requests under way at once are refused at once: that is one refusal.
const ONE_REFUSAL_MS = 1_000;

/** Whether a call surely has a line. */
export const isProven = ({ acceptedAt, connectedAt }: OpenCall, now: number): boolean =>
  connectedAt !== undefined || (acceptedAt !== undefined && now - acceptedAt >= PROVEN_AFTER_MS);

const provenOf = (open: readonly OpenCall[], now: number): number => open.filter((call) => isProven(call, now)).length;

/** How many lines there seem to be: as many as the last refusal told, and never fewer than surely have one now. */
export const linesOf = ({ known, refusedAt = 0 }: LineState, open: readonly OpenCall[], now: number): number =>
  known === undefined || now - refusedAt > BELIEVED_MS ? Infinity : Math.max(known, provenOf(open, now));

/** What is known when more calls surely have a line than there seemed to be; the same object if that is nothing new. */
export const withProven = (line: LineState, open: readonly OpenCall[], now: number): LineState => {
  const proven = provenOf(open, now);
  return line.known === undefined || proven <= line.known
    ? line
    : { ...line, known: proven, probeAt: now, probeMs: undefined };
};

// Several calls may be claimed by one look: nobody waits for a timer's turn.
const AT_ONCE_MS = 200;

/** When the next call may be claimed: calls that are started faster would wait in the provider's own queue, urgent ones behind others. */
export const startsAt = ({ nextAt = 0 }: LineState): number => nextAt - AT_ONCE_MS;

/**
 * What is known of the lines when a call is claimed.
 *
 * @param isProbe one more call is tried than there are known lines: the next one is tried only after a pause
 * @param callsPerSecond of the account, so that the next one may start a moment later; undefined: as many as there are lines
 */
export const withClaim = (
  line: LineState,
  isProbe: boolean,
  callsPerSecond: number | undefined,
  now: number,
): LineState => {
  const known = isProbe ? { ...line, probeAt: now + (line.probeMs ?? FIRST_PROBE_MS) } : line;
  return callsPerSecond === undefined
    ? known
    : { ...known, nextAt: Math.max(now, line.nextAt ?? 0) + 1_000 / callsPerSecond };
};

/** How a call was refused because no line was free. */
export interface Refusal {
  /** The line said so; otherwise a callee may have declined. */
  readonly isSure: boolean;
  /** The line could not even be reached: that tells nothing of how it refuses. */
  readonly isUnreachable?: boolean | undefined;
  /** How long the line asked to wait, in milliseconds. */
  readonly waitMs?: number | undefined;
  /** The hash of the number that was refused. */
  readonly number: string;
}

/**
 * What is known after a refusal: there are as many lines as calls stay open. One more is tried after 1, 2, 4 … 15 s.
 *
 * @param open the others
 */
export const afterRefusal = (line: LineState, open: readonly OpenCall[], refusal: Refusal, now: number): LineState => {
  const { isSure, isUnreachable, waitMs = 0, number } = refusal;
  // What the same person's second decline in a row tells is about the person.
  if (!isSure && line.refused === number) return line;
  // Somebody may have answered a call whose request nobody knows to be accepted.
  const stay = open.filter((call) => call.acceptedAt !== undefined || isProven(call, now)).length;
  const known = isSure ? stay : Math.max(1, stay);
  const { refusedAt = -Infinity, probeMs = FIRST_PROBE_MS / 2 } = line;
  // Without any call of ours nobody's end frees a line: asking starts anew.
  const isAnew = known === 0 && line.known !== 0;
  const isAgain = now - refusedAt < ONE_REFUSAL_MS;
  const pauseMs = isAnew ? FIRST_PROBE_MS : isAgain ? probeMs : Math.min(LONGEST_PROBE_MS, probeMs * 2);
  return {
    ...line,
    known,
    refusedAt: now,
    refused: number,
    sureAt: isSure && isUnreachable !== true ? now : line.sureAt,
    probeMs: pauseMs,
    probeAt: now + Math.max(pauseMs, Math.min(LONGEST_ASKED_MS, waitMs)),
  };
};

/** A declined call as this rule sees it. */
export interface Declined {
  readonly acceptedAt: number;
  readonly endedAt: number;
  /** How many calls of ours were open when it was requested. */
  readonly beside: number;
  /** Lines were known to be full: it was to find out whether there is one more. */
  readonly isProbe: boolean;
  /** How many calls to the same person were declined before without costing an attempt: where a line seemed free, and in all. */
  readonly freeDeclines: number;
  readonly refusals: number;
}

/**
 * Whether a call that was declined had no line: a network without a free line has the same codes as a callee. A person who declines has
 * heard it ring; and a line that has surely refused lately says so when it is full.
 */
export const isForWantOfLine = (
  { acceptedAt, endedAt, beside, isProbe, freeDeclines, refusals }: Declined,
  { sureAt = -Infinity }: LineState,
  now: number,
): boolean =>
  endedAt - acceptedAt < PROVEN_AFTER_MS &&
  beside > 0 &&
  now - sureAt > BELIEVED_MS &&
  refusals < MOST_REFUSALS &&
  (isProbe || freeDeclines < MOST_FREE_DECLINES);
