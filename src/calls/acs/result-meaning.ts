import type { CallResult, ResultCodes } from '../call-event.ts';

type Meaning = Pick<CallResult, 'reason' | 'meaning'>;

const NO_ANSWER: Meaning = { reason: 'no answer', meaning: 'no_answer' };
const BUSY: Meaning = { reason: 'busy', meaning: 'busy' };
const DECLINED: Meaning = { reason: 'declined', meaning: 'declined' };
const INVALID: Meaning = { reason: 'invalid number', meaning: 'refused' };
const THROTTLED: Meaning = { reason: 'throttled', meaning: 'throttled' };

/** Sub-codes that operators meet. */
const OF_SUB_CODE: ReadonlyMap<number, Meaning> = new Map([
  [560_480, NO_ANSWER],
  [10_024, DECLINED],
  [560_486, BUSY],
  [510_403, { reason: 'blocked as spam', meaning: 'refused' }],
  [560_484, INVALID],
  [8_516, THROTTLED],
  [8_522, { reason: 'call not found' }],
  [8_529, THROTTLED],
  [8_530, THROTTLED],
  // Speech that fails may work at the next attempt: nothing is wrong with the number.
  [8_535, { reason: 'speech in a bad format' }],
  [8_536, { reason: 'speech could not be downloaded' }],
  [8_565, { reason: 'speech refused' }],
  [8_567, { reason: 'speech not configured' }],
]);

/** Used where the sub-code is unknown. */
const OF_CODE: ReadonlyMap<number, Meaning> = new Map([
  [403, { reason: 'refused by the telephone network', meaning: 'refused' }],
  [404, { reason: 'number not found', meaning: 'refused' }],
  [408, NO_ANSWER],
  [429, THROTTLED],
  [480, NO_ANSWER],
  [484, INVALID],
  [486, BUSY],
  [487, { reason: 'cancelled' }],
  [603, DECLINED],
]);

/**
 * Codes → what they mean; empty where that is not known or nothing went wrong.
 *
 * @example meaningOfResult({ code: 480, subCode: 560480 }) // { reason: 'no answer', meaning: 'no_answer' }
 */
export const meaningOfResult = ({ code, subCode }: ResultCodes): Meaning =>
  (subCode === undefined ? undefined : OF_SUB_CODE.get(subCode)) ??
  (code === undefined ? undefined : OF_CODE.get(code)) ??
  {};
