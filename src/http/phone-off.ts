import { Problem } from './problem.ts';
import type { ProblemCode } from './problem-types.ts';

/** The problems of every endpoint of calls. */
export const PHONE_PROBLEMS = ['phone_off', 'storage_unavailable'] as const satisfies readonly ProblemCode[];

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
