export type Trouble =
  | {
      /** `refused`: 4xx, by the service or a gateway. `unavailable`: 5xx or 429. */
      readonly kind: 'refused' | 'unavailable';
      readonly status: number;
      readonly detail: string;
      /** Only the service itself sends a code; a gateway does not. */
      readonly code?: string | undefined;
      readonly retryAfterMs?: number | undefined;
    }
  /** `unreachable`: no network, no service, or a timeout. */
  | { readonly kind: 'unreachable' | 'unreadable' };

/** Milliseconds between questions, and the timeout of an answer. */
export interface Pace {
  readonly every: number;
  readonly patience: number;
}

const PATIENCE = 15_000;

export const PACES = {
  live: { every: 10_000, patience: PATIENCE },
  cameras: { every: 30_000, patience: PATIENCE },
  past: { every: 60_000, patience: PATIENCE },
  /** 15 s after their last answer, alerts are old. */
  alerts: { every: 8_000, patience: 7_000 },
  /** Alerts in a hidden tab are old after 75 s. Browsers wake a hidden tab once a minute, so the pause is shorter than that. */
  hidden: { every: 55_000, patience: 20_000 },
  /** Below the 15 minutes after which a camera is silent. */
  known: { every: 600_000, patience: 2 * PATIENCE },
  /** Alerts while the key is refused. */
  locked: { every: 60_000, patience: PATIENCE },
} as const satisfies Record<string, Pace>;

const FIRST_RETRY = 2_000;
/** A gateway may ask for a longer pause: no fire waits for it. */
const SLOWEST_RETRY = 60_000;

/** The state of one part of the page. Times are milliseconds since 1970. */
export interface Part<Answer> {
  /** The page never shows an answer about another subject. */
  readonly subject: string;
  readonly answer: Answer | undefined;
  /** The answered question, and the tag of its answer. */
  readonly question?: string;
  readonly etag?: string | undefined;
  readonly answeredAt?: number;
  /** From this time on, the answer is old. */
  readonly lateFrom?: number;
  /** The timeout of the open question. */
  readonly waitsUntil?: number | undefined;
  readonly trouble?: Trouble | undefined;
  /** Questions in a row without an answer. */
  readonly failures: number;
  readonly nextAt?: number;
}

export const afterAnswer = <Answer>(part: Part<Answer>, now: number, pace: Pace): Part<Answer> => ({
  ...part,
  answeredAt: now,
  lateFrom: now + pace.every + pace.patience,
  waitsUntil: undefined,
  trouble: undefined,
  failures: 0,
  nextAt: now + pace.every,
});

/** The last answer stays. @param chance 0 to 1: many pages must not retry at the same moment */
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

/** Milliseconds: doubles after every failure, up to the pace (10 s to 60 s), with jitter, and `Retry-After`, at most a minute. */
const retryDelay = (trouble: Trouble, failures: number, { every }: Pace, chance: number): number => {
  const slowest = Math.min(Math.max(every, 10_000), SLOWEST_RETRY);
  const doubled = Math.min(FIRST_RETRY * 2 ** Math.min(failures - 1, 10), slowest);
  const asked = 'retryAfterMs' in trouble ? (trouble.retryAfterMs ?? 0) : 0;
  return Math.min(Math.max(doubled * (0.75 + chance / 4), asked), SLOWEST_RETRY);
};

/**
 * Whether the service runs with `PHONE=off`. Only its own code says that. A 404 comes from a deployment, and a 503 without the code from a
 * gateway. Alerts may wait behind both.
 */
export const isPhoneOff = (trouble: Trouble | undefined): boolean =>
  trouble?.kind === 'unavailable' && trouble.status === 503 && trouble.code === 'phone_off';

/** The service does not know a notification: a wrong link, or it was deleted. A deployment's 404 has no code. */
export const isUnknown = (trouble: Trouble | undefined): boolean =>
  trouble?.kind === 'refused' && trouble.status === 404 && trouble.code === 'unknown_notification';

export const troubleText = (trouble: Trouble): string => {
  switch (trouble.kind) {
    case 'refused':
      return `The service refused the request (${trouble.status}). ${trouble.detail}`.trim();
    case 'unavailable':
      return `The service cannot answer now (${trouble.status}). ${trouble.detail}`.trim();
    case 'unreachable':
      return 'The service does not answer.';
    case 'unreadable':
      return 'The page cannot read the service’s answer. Reload the page: it may be older than the service.';
  }
};

/** Why an action failed. The details of the service are about storage and events: they do not help here. */
export const actionTroubleText = (trouble: Trouble): string => {
  if (trouble.kind === 'unavailable') return `The service cannot do it now (${trouble.status}). Try again.`;
  return trouble.kind === 'unreachable' ? 'The service does not answer. Try again.' : troubleText(trouble);
};
