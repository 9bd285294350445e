import { Problem } from './problem.ts';
import { RETRY_AFTER, type ProblemAnswers } from './route/answers.ts';

/** The problem of every endpoint of calls where the phone is off. */
export const PHONE_PROBLEMS = {
  503: {
    codes: ['phone_off', 'storage_unavailable'],
    description: 'The phone is switched off (`PHONE=off`), or storage cannot do this now.',
    headers: RETRY_AFTER.partial(),
  },
} as const satisfies ProblemAnswers;

/** What an endpoint of calls needs, where the phone is on. */
export type Phone<Parts> = Parts | 'off';

/**
 * What is needed of the phone.
 *
 * @throws {Problem} 503 where it is off; without `Retry-After`, because that does not pass: the page asks no further
 */
export const phoneOr503 = <Parts>(phone: Phone<Parts>): Parts => {
  if (phone === 'off') throw new Problem('phone_off');
  return phone;
};
