import { type Attempt, type CallTerms, hasReached, type Outcome } from './attempt.ts';
import type { PhoneRules } from './rules.ts';

/** How long a person is tried. */
export type RedialTerms = Pick<PhoneRules, 'attempts' | 'retryMs'> & Pick<CallTerms, 'confirm' | 'deadlineAt'>;

// Lines taken and a callee who declines have the same codes; so has a network that refuses once.
const MOST_DECLINED = 2;

/** What follows an attempt. */
export type AfterAttempt =
  | { readonly kind: 'reached'; readonly outcome: Extract<Outcome, 'heard' | 'confirmed'> }
  | { readonly kind: 'failed' }
  | { readonly kind: 'given up' }
  /** `at`: in milliseconds since 1970. */
  | { readonly kind: 'dial again'; readonly at: number };

/** What follows when all attempts so far are over: who was reached in any of them, however late that became known, is not called again. */
export const afterAttempts = (
  attempts: readonly Attempt[],
  { attempts: most, retryMs, confirm, deadlineAt }: RedialTerms,
): AfterAttempt => {
  if (attempts.some((attempt) => hasReached(attempt, confirm))) {
    return { kind: 'reached', outcome: confirm ? 'confirmed' : 'heard' };
  }
  const last = attempts.at(-1);
  if (last?.outcome === 'refused') return { kind: 'failed' };
  const declined = attempts.filter(({ outcome }) => outcome === 'declined').length;
  if (declined >= MOST_DECLINED || attempts.length >= most) return { kind: 'given up' };
  const at = (last?.endedAt ?? 0) + retryMs;
  return at < deadlineAt ? { kind: 'dial again', at } : { kind: 'given up' };
};
