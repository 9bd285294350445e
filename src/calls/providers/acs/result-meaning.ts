import type { CallResult, ResultCodes } from '../../model/call-event.ts';

type Meaning = Pick<CallResult, 'reason' | 'meaning' | 'lookAt'>;

const NO_ANSWER: Meaning = { reason: 'no answer', meaning: 'no_answer' };
const BUSY: Meaning = { reason: 'busy', meaning: 'busy' };
const DECLINED: Meaning = { reason: 'declined', meaning: 'declined' };
const INVALID: Meaning = { reason: 'invalid number', meaning: 'refused' };
const NO_LINE: Meaning = { reason: 'no line is free', meaning: 'no_line' };
const NO_PERMISSION: Meaning = { reason: 'the phone service does not accept this app', meaning: 'set_up' };
// One callee who blocks us, or a caller who may not call anybody: the codes are the same.
const FORBIDDEN: Meaning = { reason: 'forbidden by the callee, or our number may not call', meaning: 'forbidden' };

/** Sub-codes that operators meet. */
const OF_SUB_CODE: ReadonlyMap<number, Meaning> = new Map([
  [560_480, NO_ANSWER],
  // Cancelled when it had rung for long enough.
  [10_004, NO_ANSWER],
  [10_024, DECLINED],
  [560_603, DECLINED],
  [560_486, BUSY],
  [560_484, INVALID],
  [7_504, NO_PERMISSION],
  [7_507, NO_PERMISSION],
  [10_105, { reason: 'the Teams bot may not call', meaning: 'set_up' }],
  [510_403, FORBIDDEN],
  [560_403, FORBIDDEN],
  [511_532, { reason: 'the trunk is not set up', meaning: 'set_up' }],
  [511_404, { reason: 'the Communication Services resource is not set up', meaning: 'set_up' }],
  [8_516, { reason: 'throttled', meaning: 'no_line' }],
  [8_522, { reason: 'call not found' }],
  [8_529, { reason: "the month's limit of calls is reached", meaning: 'set_up' }],
  [8_530, NO_LINE],
  // Speech that fails may work at the next attempt: nothing is wrong with the number.
  [8_535, { reason: 'speech in a bad format' }],
  [8_536, { reason: 'speech could not be downloaded' }],
  [
    8_565,
    {
      reason: 'speech refused',
      meaning: 'no_speech',
      lookAt:
        'the role Cognitive Services User of the Communication Services identity on the AI resource, and the custom subdomain of that resource',
    },
  ],
  [
    8_567,
    {
      reason: 'speech not configured',
      meaning: 'no_speech',
      lookAt: 'ACS_COGNITIVE_SERVICES_ENDPOINT, then what 8565 asks for',
    },
  ],
]);

/** Used if the sub-code is unknown. */
const OF_CODE: ReadonlyMap<number, Meaning> = new Map([
  [403, FORBIDDEN],
  [404, { reason: 'number not found', meaning: 'refused' }],
  [408, NO_ANSWER],
  [429, { reason: 'throttled', meaning: 'no_line' }],
  [480, NO_ANSWER],
  [484, INVALID],
  [486, BUSY],
  [487, { reason: 'cancelled' }],
  [603, DECLINED],
]);

/**
 * Codes → what they mean; empty if that is not known or nothing went wrong.
 *
 * @example meaningOfResult({ code: 480, subCode: 560480 }) // { reason: 'no answer', meaning: 'no_answer' }
 */
export const meaningOfResult = ({ code, subCode }: ResultCodes): Meaning =>
  (subCode === undefined ? undefined : OF_SUB_CODE.get(subCode)) ??
  (code === undefined ? undefined : OF_CODE.get(code)) ??
  {};
