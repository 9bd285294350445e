import type { CallResult } from '../../model/phone-provider.ts';
import {
  BUSY,
  INVALID,
  type Meaning,
  meaningOfNetwork,
  NO_ANSWER,
  NO_LINE,
  NOT_ACCEPTED,
  THROTTLED,
} from '../failures.ts';

const NOT_ACTIVE: Meaning = { reason: 'the account is not active', failure: 'set_up' };
const NOT_OUR_NUMBER: Meaning = { reason: 'the caller is not a number of this account', failure: 'set_up' };
const WRONG_ADDRESS: Meaning = {
  reason: 'the callback address is not accepted',
  failure: 'set_up',
  operatorHint: 'CALLBACK_BASE_URL',
};
const COUNTRY: Meaning = { reason: 'calls to this country are not enabled', failure: 'refused' };
const NOT_CONNECTED: Meaning = { reason: 'the telephone network could not connect the call' };

/** Twilio's own codes that operators meet. */
const OF_ERROR = new Map<number, Meaning>([
  [10_001, NOT_ACTIVE],
  [10_002, { reason: 'a trial account may not do this', failure: 'refused' }],
  // Too many calls at a time: the account's limit.
  [10_004, NO_LINE],
  [13_223, INVALID],
  [13_224, INVALID],
  [13_225, { reason: 'this number cannot be called', failure: 'refused' }],
  [13_227, COUNTRY],
  [20_003, NOT_ACCEPTED],
  [20_005, NOT_ACTIVE],
  [20_008, { reason: 'test credentials place no calls', failure: 'set_up', operatorHint: 'TWILIO_API_KEY_SID' }],
  [20_429, THROTTLED],
  [21_201, INVALID],
  [21_205, WRONG_ADDRESS],
  [21_210, NOT_OUR_NUMBER],
  [21_211, INVALID],
  [21_212, NOT_OUR_NUMBER],
  [21_213, NOT_OUR_NUMBER],
  [21_214, INVALID],
  [21_215, COUNTRY],
  [21_216, { reason: 'this number is blocked for the account', failure: 'refused' }],
  [21_217, INVALID],
  [21_219, { reason: 'a trial account calls verified numbers only', failure: 'refused' }],
  [21_220, { reason: 'the call is over', failure: 'gone' }],
  [21_606, NOT_OUR_NUMBER],
  [21_609, WRONG_ADDRESS],
  [32_009, NOT_CONNECTED],
  [32_011, NOT_CONNECTED],
]);

/** How a call ended, in Twilio's word: the codes say more. */
const OF_STATUS = new Map<string, Meaning>([
  ['busy', BUSY],
  ['no-answer', NO_ANSWER],
  ['canceled', { reason: 'canceled' }],
]);

/**
 * Twilio's code of a rejected request → what it means; empty if that is not known.
 *
 * @example meaningOfError(21211) // { reason: 'invalid number', failure: 'refused' }
 */
export const meaningOfError = (code = 0): Meaning => OF_ERROR.get(code) ?? {};

/**
 * How an unanswered call ended.
 *
 * @param status `busy`, `no-answer`, `failed` or `canceled`
 * @param codes `code` is the telephone network's (SIP), `subCode` Twilio's
 */
export const resultOfEnd = (status: string, codes: Pick<CallResult, 'code' | 'subCode'>): CallResult => {
  const { code, subCode = 0 } = codes;
  // A phone that has rung to the end is reported with 487 too: Twilio has canceled it for us.
  const rangOut = status === 'no-answer' && (code === undefined || code === 487 || code === 200);
  const meaning = OF_ERROR.get(subCode) ?? (rangOut ? NO_ANSWER : meaningOfNetwork(code)) ?? OF_STATUS.get(status);
  return { reason: status, ...codes, ...meaning };
};
