import { Problem } from './problem.ts';
import type { ProblemCode } from './problem-types.ts';

export const PHONE_PROBLEMS = ['phone_off', 'storage_unavailable'] as const satisfies readonly ProblemCode[];

/** The parts of the phone that an endpoint needs; `off` if there is no phone. */
export type Phone<Parts> = Parts | 'off';

/**
 * The parts of the phone that the endpoints need.
 *
 * @throws {Problem} 503 if it is off, without `Retry-After`, because waiting does not help
 */
export const phoneOr503 = <Parts>(phone: Phone<Parts>): Parts => {
  if (phone === 'off') throw new Problem('phone_off');
  return phone;
};
