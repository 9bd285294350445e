import type { NotMade, Outcome } from '../model/outcome.ts';
import type { PhoneRules } from './policy.ts';

/** How long a person is tried. */
export interface RedialTerms extends Pick<PhoneRules, 'attempts' | 'retryMs'> {
  /** Whether a key is asked for. */
  readonly confirm: boolean;
  /** No call request is sent after it, in milliseconds since 1970. */
  readonly deadlineAt: number;
}

/** An attempt as redialling sees it. */
export interface PastAttempt {
  /** Undefined while it lasts. */
  readonly outcome?: Outcome | NotMade | undefined;
  /** Of `cut_short`: one whole unit of the message was spoken. */
  readonly hasHeardUnit?: boolean | undefined;
  /** In milliseconds since 1970. */
  readonly endedAt?: number | undefined;
}

// Lines taken and a callee who declines have the same codes; so has a network that refuses once.
const MOST_DECLINED = 2;

/** What follows an attempt. */
export type AfterAttempt =
  | { readonly kind: 'final'; readonly state: 'heard' | 'confirmed' | 'cannot_go' | 'failed' | 'not_reached' }
  /** `at`: in milliseconds since 1970. */
  | { readonly kind: 'dial again'; readonly at: number };

/** What follows when all attempts so far are over: who was reached in any of them, however late that became known, is not called again. */
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
  const declined = attempts.filter(({ outcome }) => outcome === 'declined').length;
  const at = (last?.endedAt ?? 0) + retryMs;
  const isGivenUp = declined >= MOST_DECLINED || attempts.length >= most || at >= deadlineAt;
  return isGivenUp ? { kind: 'final', state: 'not_reached' } : { kind: 'dial again', at };
};

/** Whether the attempt has reached a person: one who heard the message or its first unit or, if keys were asked for, pressed 1. */
export const hasReached = ({ outcome, hasHeardUnit }: PastAttempt, confirm: boolean): boolean =>
  confirm ? outcome === 'confirmed' : outcome === 'heard' || (outcome === 'cut_short' && hasHeardUnit === true);
