import type { CallResult } from '../../model/call-event.ts';

type Meaning = Pick<CallResult, 'failure' | 'reason'>;

const NO_ANSWER: Meaning = { reason: 'no answer', failure: 'no_answer' };
const BUSY: Meaning = { reason: 'busy', failure: 'busy' };
const DECLINED: Meaning = { reason: 'declined', failure: 'declined' };
const INVALID: Meaning = { reason: 'invalid number', failure: 'refused' };
const NOT_OUR_NUMBER: Meaning = { reason: 'the caller is not a number of this account', failure: 'set_up' };
const FORBIDDEN: Meaning = { reason: 'forbidden', failure: 'forbidden' };
const COUNTRY: Meaning = { reason: 'calls to this country are not enabled', failure: 'refused' };
const NOT_CONNECTED: Meaning = { reason: 'the telephone network could not connect the call' };

/** Twilio's own codes that operators meet. */
const OF_ERROR: ReadonlyMap<number, Meaning> = new Map([
  // Too many calls at a time: the account's limit.
  [10_004, { reason: 'no line is free', failure: 'capacity' }],
  [20_429, { reason: 'throttled', failure: 'capacity' }],
  [20_003, { reason: 'the phone service does not accept this app', failure: 'set_up' }],
  [20_005, { reason: 'the account is not active', failure: 'set_up' }],
  [10_001, { reason: 'the account is not active', failure: 'set_up' }],
  [10_002, { reason: 'a trial account may not do this', failure: 'refused' }],
  [21_210, NOT_OUR_NUMBER],
  [21_212, NOT_OUR_NUMBER],
  [21_213, NOT_OUR_NUMBER],
  [21_606, NOT_OUR_NUMBER],
  [21_219, { reason: 'a trial account calls verified numbers only', failure: 'refused' }],
  [21_201, INVALID],
  [21_211, INVALID],
  [21_214, INVALID],
  [21_217, INVALID],
  [13_223, INVALID],
  [13_224, INVALID],
  [13_225, { reason: 'this number cannot be called', failure: 'refused' }],
  [21_215, COUNTRY],
  [13_227, COUNTRY],
  [21_216, { reason: 'this number is blocked for the account', failure: 'refused' }],
  [21_220, { reason: 'the call is over', failure: 'gone' }],
  [32_009, NOT_CONNECTED],
  [32_011, NOT_CONNECTED],
]);

/** The code of the telephone network, which says more than the call's status. */
const OF_SIP: ReadonlyMap<number, Meaning> = new Map([
  [403, FORBIDDEN],
  [404, { reason: 'number not found', failure: 'refused' }],
  [408, NO_ANSWER],
  [480, NO_ANSWER],
  [484, INVALID],
  [486, BUSY],
  [487, { reason: 'canceled' }],
  [600, BUSY],
  [603, DECLINED],
  [607, FORBIDDEN],
  [608, FORBIDDEN],
]);

const OF_STATUS: ReadonlyMap<string, Meaning> = new Map([
  ['busy', BUSY],
  ['no-answer', NO_ANSWER],
  ['canceled', { reason: 'canceled' }],
]);

const known = <Key>(meanings: ReadonlyMap<Key, Meaning>, key: Key | undefined): Meaning | undefined =>
  key === undefined ? undefined : meanings.get(key);

/**
 * Twilio's code of a refused request → what it means; empty if that is not known.
 *
 * @example meaningOfError(21211) // { reason: 'invalid number', failure: 'refused' }
 */
export const meaningOfError = (code: number | undefined): Meaning => known(OF_ERROR, code) ?? {};

/**
 * How a call ended that nobody answered.
 *
 * @param status `busy`, `no-answer`, `failed` or `canceled`
 * @param codes `code` is that of the telephone network (SIP), `subCode` Twilio's
 */
export const resultOfEnd = (status: string, codes: Pick<CallResult, 'code' | 'subCode'>): CallResult => {
  const { code, subCode } = codes;
  // A phone that has rung to the end is reported with 487 too: Twilio has canceled it for us.
  const rangOut = status === 'no-answer' && (code === undefined || code === 487 || code === 200);
  const meaning = known(OF_ERROR, subCode) ?? (rangOut ? NO_ANSWER : known(OF_SIP, code)) ?? known(OF_STATUS, status);
  return { reason: status, ...codes, ...meaning };
};
