import type { CallResult, ResultCodes } from '../../model/call-event.ts';

type Meaning = Pick<CallResult, 'reason' | 'meaning'>;

const NO_ANSWER: Meaning = { reason: 'no answer', meaning: 'no_answer' };
const BUSY: Meaning = { reason: 'busy', meaning: 'busy' };
const DECLINED: Meaning = { reason: 'declined', meaning: 'declined' };
const INVALID: Meaning = { reason: 'invalid number', meaning: 'refused' };
const NO_LINE: Meaning = { reason: 'no line is free', meaning: 'no_line' };
const THROTTLED: Meaning = { reason: 'throttled', meaning: 'no_line' };
const NO_PERMISSION: Meaning = { reason: 'the phone service does not accept this app', meaning: 'set_up' };
const NOT_OUR_NUMBER: Meaning = { reason: 'the caller is not a number of this account', meaning: 'set_up' };
const FORBIDDEN: Meaning = { reason: 'forbidden', meaning: 'forbidden' };
const COUNTRY: Meaning = { reason: 'calls to this country are not enabled', meaning: 'refused' };

/** Twilio's own codes that operators meet. */
const OF_ERROR: ReadonlyMap<number, Meaning> = new Map([
  // Too many calls at a time: the account's limit.
  [10_004, NO_LINE],
  [20_429, THROTTLED],
  [20_003, NO_PERMISSION],
  [20_005, { reason: 'the account is not active', meaning: 'set_up' }],
  [20_404, { reason: 'there is no such account', meaning: 'set_up' }],
  [10_001, { reason: 'the account is not active', meaning: 'set_up' }],
  [10_002, { reason: 'a trial account may not do this', meaning: 'refused' }],
  [21_210, NOT_OUR_NUMBER],
  [21_212, NOT_OUR_NUMBER],
  [21_213, NOT_OUR_NUMBER],
  [21_606, NOT_OUR_NUMBER],
  [21_219, { reason: 'a trial account calls verified numbers only', meaning: 'refused' }],
  [21_201, INVALID],
  [21_211, INVALID],
  [21_214, INVALID],
  [21_217, INVALID],
  [13_223, INVALID],
  [13_224, INVALID],
  [13_225, { reason: 'this number cannot be called', meaning: 'refused' }],
  [21_215, COUNTRY],
  [21_216, { reason: 'this number is blocked for the account', meaning: 'refused' }],
  [13_227, COUNTRY],
  [21_220, { reason: 'the call is over' }],
  [32_009, { reason: 'the telephone network could not connect the call' }],
  [32_011, { reason: 'the telephone network could not connect the call' }],
]);

/** The code of the telephone network, which says more than the call's status. */
const OF_SIP: ReadonlyMap<number, Meaning> = new Map([
  [403, FORBIDDEN],
  [404, { reason: 'number not found', meaning: 'refused' }],
  [408, NO_ANSWER],
  [480, NO_ANSWER],
  [484, INVALID],
  [486, BUSY],
  [487, { reason: 'cancelled' }],
  [600, BUSY],
  [603, DECLINED],
  [607, FORBIDDEN],
  [608, FORBIDDEN],
]);

const OF_STATUS: ReadonlyMap<string, Meaning> = new Map([
  ['busy', BUSY],
  ['no-answer', NO_ANSWER],
  ['canceled', { reason: 'cancelled' }],
]);

/**
 * Twilio's code of a refused request or a failed call → what it means; empty if that is not known.
 *
 * @example meaningOfError(21211) // { reason: 'invalid number', meaning: 'refused' }
 */
export const meaningOfError = (code: number | undefined): Meaning =>
  (code === undefined ? undefined : OF_ERROR.get(code)) ?? {};

/**
 * How a call ended that nobody had answered → what it means.
 *
 * @param codes `code` is that of the telephone network (SIP), `subCode` Twilio's
 */
export const meaningOfEnd = (status: string, { code, subCode }: ResultCodes): Meaning => {
  const ofError = meaningOfError(subCode);
  if (ofError.reason !== undefined) return ofError;
  // A phone that has rung to the end is reported with 487 too: we, or Twilio for us, have cancelled it.
  if (status === 'no-answer' && (code === undefined || code === 487 || code === 200)) return NO_ANSWER;
  return (code === undefined ? undefined : OF_SIP.get(code)) ?? OF_STATUS.get(status) ?? {};
};
