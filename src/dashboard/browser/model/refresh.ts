/** Why something could not be shown as asked for. */
export type Trouble =
  /** The service, or something before it, understood the question and does not take it (4xx). */
  | { readonly kind: 'refused'; readonly status: number; readonly detail: string }
  /** The service says that it cannot answer now (5xx, 429). */
  | {
      readonly kind: 'unavailable';
      readonly status: number;
      readonly detail: string;
      /** The service's own name for the problem: a gateway before it has none. */
      readonly code?: string | undefined;
      readonly retryAfterSeconds: number | undefined;
    }
  /** No answer at all: no network, no service, or too late. */
  | { readonly kind: 'unreachable' }
  /** An answer that the page does not understand. */
  | { readonly kind: 'unreadable' };

/** When a part of the page was last answered, and from when on that is old. Milliseconds since 1970. */
export interface LastAnswer {
  readonly at: number;
  readonly lateFrom: number;
}

/** Whether what a part of the page shows is current, and when it is asked about again; without `last` it was never answered. */
export type Refresh = { readonly last?: LastAnswer | undefined } & (
  | { readonly phase: 'asking' }
  | { readonly phase: 'current'; readonly nextAt: number }
  /** The service has no phone, in its own words. */
  | { readonly phase: 'off'; readonly detail: string; readonly nextAt: number }
  /** `failures`: questions that failed by themselves, one after the other. */
  | { readonly phase: 'failing'; readonly trouble: Trouble; readonly failures: number; readonly nextAt: number }
);

/** How often the service is asked about each part, in milliseconds; and after how many missed answers the last one is old. */
export const PACE = {
  live: 10_000,
  past: 60_000,
  /** Alerts: less than the ten seconds in which somebody has to know. */
  alerts: 8_000,
  /** While nobody sees the tab; browsers let a hidden one do no more. */
  hidden: 60_000,
  /** Cameras that sent in the last minutes. */
  recent: 60_000,
  /** Cameras of the last days: less than the minutes after which one is silent, so that its last frame is known by then. */
  known: 600_000,
  firstRetry: 2_000,
  slowestRetry: 60_000,
  missed: 3,
} as const;

/** How a question was asked. */
export interface AskedBy {
  readonly now: number;
  /** Milliseconds to the next question about the same part. */
  readonly pace: number;
  /** 0 to 1: many pages must not ask a returning service all at once. */
  readonly chance: number;
  /** Somebody asked for it: that it failed too must not lengthen the wait for the next one. */
  readonly byHand?: boolean;
}

/** An answer that was given now, or found unchanged, with a pace. */
export const answeredAt = (at: number, pace: number): LastAnswer => ({ at, lateFrom: at + PACE.missed * pace });

/** What an answer, or a trouble in its place, means for what is shown. */
export const afterReply = (
  { last, ...before }: Refresh,
  trouble: Trouble | undefined,
  { now, pace, chance, byHand = false }: AskedBy,
): Refresh => {
  if (trouble === undefined) return { phase: 'current', last: answeredAt(now, pace), nextAt: now + pace };
  if (isPhoneOff(trouble)) {
    return { phase: 'off', detail: trouble.detail, last: answeredAt(now, PACE.past), nextAt: now + PACE.past };
  }
  const waiting = before.phase === 'failing' ? before : undefined;
  const failures = (waiting?.failures ?? 0) + (byHand && waiting !== undefined ? 0 : 1);
  const nextAt = now + retryDelay(trouble, failures, chance);
  const keeps = byHand && waiting !== undefined && waiting.nextAt > now;
  return { phase: 'failing', trouble, failures, nextAt: keeps ? Math.min(nextAt, waiting.nextAt) : nextAt, last };
};

/** Twice as long after every failure, with some chance; what the service asks for comes first. */
const retryDelay = (trouble: Trouble, failures: number, chance: number): number => {
  const doubled = Math.min(PACE.firstRetry * 2 ** Math.min(failures - 1, 10), PACE.slowestRetry);
  const asked =
    trouble.kind === 'unavailable' && trouble.retryAfterSeconds !== undefined ? trouble.retryAfterSeconds * 1_000 : 0;
  return Math.min(Math.max(doubled * (0.75 + chance / 2), asked), 5 * PACE.slowestRetry);
};

/**
 * Whether the service places no phone calls. Only its own code says that: a 404 is a deployment, and a 503 with some JSON is a gateway,
 * behind which a fire may be reported.
 */
const isPhoneOff = (trouble: Trouble): trouble is Extract<Trouble, { readonly kind: 'unavailable' }> =>
  trouble.kind === 'unavailable' && trouble.status === 503 && trouble.code === 'phone_off';

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

/** The same in a word or two, beside what it concerns. */
export const troubleWord = (trouble: Trouble): string => {
  switch (trouble.kind) {
    case 'refused':
      return `refused (${trouble.status})`;
    case 'unavailable':
      return `no answer (${trouble.status})`;
    case 'unreachable':
      return 'no answer';
    case 'unreadable':
      return 'wrong answer';
  }
};
