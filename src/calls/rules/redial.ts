import type { Outcome } from '../model/outcomes.ts';
import type { PhoneRules } from './policy.ts';

export interface RedialTerms extends Pick<PhoneRules, 'attempts' | 'retryMs'> {
  readonly confirm: boolean;
  /** No call request is sent after it, in milliseconds since 1970. */
  readonly deadlineAt: number;
}

/** The facts about a past attempt that decide about redialing. Times are in milliseconds since 1970. */
export interface PastAttempt {
  readonly outcome: Outcome;
  /** Of `cut_short`: one whole unit of the message was spoken. */
  readonly hasHeardUnit?: boolean | undefined;
  readonly acceptedAt: number;
  readonly endedAt: number;
}

/** This number of declines of a phone that rang long enough is final. */
const MAX_DECLINED = 2;
/** A phone that rang for this time had a line, and its owner has heard it. A quicker decline may be the network's. */
export const RANG_MS = 6_000;

export type AfterAttempt =
  | { readonly kind: 'final'; readonly state: 'heard' | 'confirmed' | 'cannot_go' | 'failed' | 'not_reached' }
  /** `at`: in milliseconds since 1970. */
  | { readonly kind: 'dial again'; readonly at: number };

/** The step when all attempts so far are over. A callee who was reached in any of them, however late that became known, is not called again. */
export const afterAttempts = (
  attempts: readonly PastAttempt[],
  { attempts: most, retryMs, confirm, deadlineAt }: RedialTerms,
): AfterAttempt => {
  if (attempts.some((attempt) => hasReached(attempt, confirm))) {
    return { kind: 'final', state: confirm ? 'confirmed' : 'heard' };
  }
  if (attempts.some(({ outcome }) => outcome === 'cannot_go')) return { kind: 'final', state: 'cannot_go' };
  const last = attempts.at(-1);
  if (last?.outcome === 'refused') return { kind: 'final', state: 'failed' };
  const declined = attempts.filter((one) => one.outcome === 'declined' && !isQuick(one)).length;
  const at = (last?.endedAt ?? 0) + retryMs;
  const isGivenUp = declined >= MAX_DECLINED || attempts.length >= most || at >= deadlineAt;
  return isGivenUp ? { kind: 'final', state: 'not_reached' } : { kind: 'dial again', at };
};

/** Whether an attempt has reached a person: the callee heard the message or its first unit or, if the message asked for keys, pressed 1. */
export const hasReached = (
  { outcome, hasHeardUnit }: Pick<PastAttempt, 'outcome' | 'hasHeardUnit'>,
  confirm: boolean,
): boolean =>
  confirm ? outcome === 'confirmed' : outcome === 'heard' || (outcome === 'cut_short' && hasHeardUnit === true);

/** Whether a phone rang so shortly that the network, and not the callee, may have declined. */
export const isQuick = ({ acceptedAt, endedAt }: Pick<PastAttempt, 'acceptedAt' | 'endedAt'>): boolean =>
  endedAt - acceptedAt < RANG_MS;
