/** Why the service did not answer a question as asked. */
export type Trouble =
  /** The service, or a gateway before it, does not accept the question (4xx). */
  | { readonly kind: 'refused'; readonly status: number; readonly detail: string }
  /** The service says that it cannot answer now (5xx, 429). */
  | {
      readonly kind: 'unavailable';
      readonly status: number;
      readonly detail: string;
      /** The service's own name for the problem; a gateway before it gives none. */
      readonly code?: string | undefined;
      readonly retryAfterSeconds: number | undefined;
    }
  /** No answer at all: no network, no service, or too late. */
  | { readonly kind: 'unreachable' }
  /** An answer that the page does not understand. */
  | { readonly kind: 'unreadable' };

/** How often the service is asked about a part, and how long an answer may take, in milliseconds. */
export interface Pace {
  readonly every: number;
  readonly patience: number;
}

/** An answer that is still missing after so many milliseconds is given up. */
const PATIENCE = 15_000;

/** How often the service is asked about each part. */
export const PACES = {
  live: { every: 10_000, patience: PATIENCE },
  past: { every: 60_000, patience: PATIENCE },
  /** 15 s after the last answer, alerts are old: the reader must know that by then. */
  alerts: { every: 8_000, patience: 7_000 },
  /** Alerts in a hidden tab, old after 75 s. Browsers wake a hidden tab once a minute: a shorter pause meets each of these minutes. */
  hidden: { every: 55_000, patience: 20_000 },
  /** The cameras of the last days: less than the 15 minutes after which a camera is silent. */
  known: { every: 600_000, patience: PATIENCE },
} as const satisfies Record<string, Pace>;

const FIRST_RETRY = 2_000;
const SLOWEST_RETRY = 60_000;
/** The service may ask for a longer pause, but no longer than this. */
const LONGEST_PAUSE = 300_000;

/** What the page knows of one part. Times in milliseconds since 1970. */
export interface Part<Answer> {
  /** What the answer is about: an answer about something else is never shown in its place. */
  readonly subject: string;
  readonly answer: Answer | undefined;
  /** The question that was answered, and the tag of its answer. */
  readonly question?: string;
  readonly etag?: string | undefined;
  readonly answeredAt?: number;
  /** From then on the answer is old. */
  readonly lateFrom?: number;
  /** A question is open, and is given up then. */
  readonly waitsUntil?: number | undefined;
  /** Why the last question had no answer. */
  readonly trouble?: Trouble | undefined;
  /** How many questions had no answer, one after the other. */
  readonly failures: number;
  /** When the service is asked again. */
  readonly nextAt?: number;
}

/** The part after the service gave the answer that it has, or found it unchanged. */
export const afterAnswer = <Answer>(part: Part<Answer>, now: number, pace: Pace): Part<Answer> => ({
  ...part,
  answeredAt: now,
  lateFrom: now + pace.every + pace.patience,
  waitsUntil: undefined,
  trouble: undefined,
  failures: 0,
  nextAt: now + pace.every,
});

/**
 * The part after a question had no answer: what was answered before stays.
 *
 * @param chance 0 to 1: many pages must not ask a returning service all at once
 */
export const afterTrouble = <Answer>(
  part: Part<Answer>,
  trouble: Trouble,
  now: number,
  pace: Pace,
  chance: number,
): Part<Answer> => {
  const failures = part.failures + 1;
  const nextAt = now + retryDelay(trouble, failures, pace, chance);
  return { ...part, waitsUntil: undefined, trouble, failures, nextAt };
};

/** Doubles after every failure, up to the pace (10 s to 60 s), with some chance; the service may ask for more. Milliseconds. */
const retryDelay = (trouble: Trouble, failures: number, { every }: Pace, chance: number): number => {
  const slowest = Math.min(Math.max(every, 10_000), SLOWEST_RETRY);
  const doubled = Math.min(FIRST_RETRY * 2 ** Math.min(failures - 1, 10), slowest);
  const asked = trouble.kind === 'unavailable' ? (trouble.retryAfterSeconds ?? 0) * 1_000 : 0;
  return Math.min(Math.max(doubled * (0.75 + chance / 4), asked), LONGEST_PAUSE);
};

/**
 * Whether the service was started with `PHONE=off`. Only its own code says that. A 404 comes from a deployment, and a 503 without the code
 * from a gateway, behind which a fire may be reported.
 */
export const isPhoneOff = (trouble: Trouble | undefined): boolean =>
  trouble?.kind === 'unavailable' && trouble.status === 503 && trouble.code === 'phone_off';

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
