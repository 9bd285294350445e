import type { ResultCodes } from '../call-event.ts';

/** Sub-codes that operators meet. */
const REASON_OF_SUB_CODE: ReadonlyMap<number, string> = new Map([
  [560_480, 'no answer'],
  [10_024, 'declined'],
  [560_486, 'busy'],
  [510_403, 'blocked as spam'],
  [560_484, 'invalid number'],
  [8_516, 'throttled'],
  [8_522, 'call not found'],
  [8_529, 'throttled'],
  [8_530, 'throttled'],
  [8_535, 'speech in a bad format'],
  [8_536, 'speech could not be downloaded'],
  [8_565, 'speech refused'],
  [8_567, 'speech not configured'],
]);

/** Used where the sub-code is unknown. */
const REASON_OF_CODE: ReadonlyMap<number, string> = new Map([
  [403, 'refused by the telephone network'],
  [404, 'number not found'],
  [408, 'no answer'],
  [429, 'throttled'],
  [480, 'no answer'],
  [484, 'invalid number'],
  [486, 'busy'],
  [487, 'cancelled'],
  [603, 'declined'],
]);

/**
 * Codes → words for logs, records and answers; undefined where their meaning is not known or nothing went wrong.
 *
 * @example reasonInWords({ code: 480, subCode: 560480 }) // 'no answer'
 */
export const reasonInWords = ({ code, subCode }: ResultCodes): string | undefined =>
  (subCode === undefined ? undefined : REASON_OF_SUB_CODE.get(subCode)) ??
  (code === undefined ? undefined : REASON_OF_CODE.get(code));
