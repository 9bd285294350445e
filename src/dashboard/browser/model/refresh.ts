/** Why something could not be shown as asked for. */
export type Trouble =
  /** The service understood the question and does not take it (4xx): asking again is no use. */
  | { readonly kind: 'refused'; readonly status: number; readonly detail: string }
  /** The service says that it cannot answer now (5xx). */
  | {
      readonly kind: 'unavailable';
      readonly status: number;
      readonly detail: string;
      readonly retryAfterSeconds: number | undefined;
    }
  /** No answer at all: no network, no service, or too late. */
  | { readonly kind: 'unreachable' }
  /** An answer that the page does not understand. */
  | { readonly kind: 'unreadable' };

/** How one round of questions went. */
export type RoundOutcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'failed'; readonly trouble: Trouble }
  | { readonly kind: 'unauthorized'; readonly keySent: boolean };

/** When the service last answered a whole round, and from when on that is old. Milliseconds since 1970. */
export interface LastAnswer {
  readonly at: number;
  readonly lateFrom: number;
}

/** Whether what is shown is current, and when the service is asked again; without `last` it never answered. */
export type Refresh = { readonly last?: LastAnswer | undefined } & (
  | { readonly phase: 'asking' }
  | { readonly phase: 'current'; readonly nextAt: number }
  /** `failures`: rounds that failed by themselves, one after the other. */
  | { readonly phase: 'failing'; readonly trouble: Trouble; readonly failures: number; readonly nextAt: number }
  /** Asks nothing until there is a key. `refused`: there was one, and the service did not take it. */
  | { readonly phase: 'locked'; readonly refused: boolean }
);

/** How often the service is asked, in milliseconds; and after how many missed rounds an answer is old. */
export const PACE = { live: 10_000, past: 60_000, firstRetry: 2_000, slowestRetry: 60_000, missedRounds: 3 } as const;

/**
 * What a round's outcome means for what is shown.
 *
 * @param live whether what is shown can still grow
 * @param chance 0 to 1: many pages must not ask a returning service all at once
 * @param byHand somebody asked for this round: that it failed too must not lengthen the wait for the next one
 */
export const afterRound = (
  { last, ...before }: Refresh,
  outcome: RoundOutcome,
  {
    now,
    live,
    chance,
    byHand = false,
  }: { readonly now: number; readonly live: boolean; readonly chance: number; readonly byHand?: boolean },
): Refresh => {
  switch (outcome.kind) {
    case 'answered': {
      const pace = live ? PACE.live : PACE.past;
      return { phase: 'current', last: { at: now, lateFrom: now + PACE.missedRounds * pace }, nextAt: now + pace };
    }
    case 'unauthorized':
      return { phase: 'locked', refused: outcome.keySent, last };
    case 'failed': {
      const { trouble } = outcome;
      const waiting = before.phase === 'failing' ? before : undefined;
      const failures = (waiting?.failures ?? 0) + (byHand && waiting !== undefined ? 0 : 1);
      const nextAt = now + retryDelay(trouble, failures, chance);
      const keeps = byHand && waiting !== undefined && waiting.nextAt > now;
      return { phase: 'failing', trouble, failures, nextAt: keeps ? Math.min(nextAt, waiting.nextAt) : nextAt, last };
    }
  }
};

/** Twice as long after every failure, with some chance; what the service asks for comes first. */
const retryDelay = (trouble: Trouble, failures: number, chance: number): number => {
  const doubled = Math.min(PACE.firstRetry * 2 ** Math.min(failures - 1, 10), PACE.slowestRetry);
  const asked =
    trouble.kind === 'unavailable' && trouble.retryAfterSeconds !== undefined ? trouble.retryAfterSeconds * 1_000 : 0;
  return Math.min(Math.max(doubled * (0.75 + chance / 2), asked), 5 * PACE.slowestRetry);
};

/**
 * Whether the service places no phone calls, by its answer about notifications: a 503 that says why and names no time to ask again, or
 * a 404. A 503 without a reason is not the service's own.
 */
export const isPhoneOff = (trouble: Trouble): trouble is Extract<Trouble, { readonly status: number }> =>
  (trouble.kind === 'unavailable' &&
    trouble.status === 503 &&
    trouble.detail !== '' &&
    trouble.retryAfterSeconds === undefined) ||
  (trouble.kind === 'refused' && trouble.status === 404);

/** A trouble in words, as a sentence. */
export const troubleText = (trouble: Trouble): string => {
  switch (trouble.kind) {
    case 'refused':
      return `The service did not accept this question (${trouble.status}). ${trouble.detail}`.trim();
    case 'unavailable':
      return `The service cannot answer now (${trouble.status}). ${trouble.detail}`.trim();
    case 'unreachable':
      return 'The service does not answer.';
    case 'unreadable':
      return 'The service answered something that this page does not understand. Reload the page: it may be older than the service.';
  }
};
