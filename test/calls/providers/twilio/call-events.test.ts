import { expect, it } from 'vitest';

import { addressOf, readAddress } from '../../../../src/calls/providers/twilio/addresses.ts';
import { callEvent } from '../../../../src/calls/providers/twilio/call-events.ts';
import { meaningOfError, resultOfEnd } from '../../../../src/calls/providers/twilio/codes.ts';
import { attempt, ATTEMPT, ID } from '../stage.ts';

const PATH = 'https://watch.example/api/CustomCallback';
const SID = `CA${'0123456789abcdef'.repeat(2)}`;

const searchOf = (address: string): string => /\?[^#]*/.exec(address)?.[0] ?? '';
const read = (form: Readonly<Record<string, string>>, search = '') =>
  callEvent({ CallSid: SID, ...form }, readAddress(search));

it('an address says what its requests are about in characters that no proxy rewrites, and asks for three tries of 5 s', () => {
  const address = addressOf(PATH, { occasion: 'end', attempt, prompt: 1, keys: 2 });
  expect(address).toBe(`${PATH}?attempt=${ATTEMPT}/1&on=end&keys=2#ct=2000&rt=5000&rc=2&rp=5xx,ct,rt`);
  expect(new URL(address).search).toBe(searchOf(address));
  expect(readAddress(searchOf(address))).toEqual({ occasion: 'end', attempt, prompt: 1, keys: 2 });
});

it.each(['', '?attempt=x', '?on=start&keys=-1', `?attempt=${ID}/3/no-uuid&keys=1e3`])(
  'the query %s says nothing',
  (search) => {
    expect(readAddress(search)).toEqual({ occasion: undefined, attempt: undefined, prompt: 0, keys: 0 });
  },
);

const STATUS = searchOf(addressOf(PATH, { occasion: 'status', attempt }));
const END = searchOf(addressOf(PATH, { occasion: 'end', attempt, prompt: 2 }));

it.each([
  [{ CallStatus: 'initiated' }, STATUS, { kind: 'ringing', attempt }],
  [{ CallStatus: 'ringing' }, STATUS, { kind: 'ringing' }],
  [{ CallStatus: 'in-progress' }, STATUS, { kind: 'connected', attempt }],
  [
    { CallStatus: 'completed', CallDuration: '12', SipResponseCode: '200' },
    STATUS,
    { kind: 'disconnected', connectedMs: 12_000, result: { code: undefined } },
  ],
  [
    { CallStatus: 'busy', SipResponseCode: '486' },
    STATUS,
    { kind: 'create failed', result: { code: 486, reason: 'busy', failure: 'busy' } },
  ],
  // No row can store this code.
  [
    { CallStatus: 'failed', ErrorCode: '9999999999' },
    STATUS,
    { kind: 'create failed', result: { subCode: undefined, reason: 'failed' } },
  ],
  [{ Digits: '21' }, '?on=key&keys=7', { kind: 'tone received', key: { key: '2', sequence: 7 } }],
  [{ CallStatus: 'in-progress' }, END, { kind: 'play completed', prompt: 2, attempt }],
] as const)('the form %j to %s reports %j', (form, search, event) => {
  expect(read(form, search)).toMatchObject({ callId: SID, ...event });
});

it('a form without a call id of Twilio is no event; a status or request that is not used is another', () => {
  for (const CallSid of ['', 'x', '../../Accounts', `CA${'0'.repeat(31)}`, `${SID}/x`]) {
    expect(read({ CallSid, CallStatus: 'in-progress' }, STATUS)).toBeUndefined();
  }
  expect(read({ CallStatus: 'paused' }, STATUS)).toBe('other');
  expect(read({ CallStatus: 'in-progress' }, '?on=key')).toBe('other');
});

it.each([
  ['busy', 603, undefined, 'declined'],
  ['failed', 600, undefined, 'busy'],
  ['failed', 607, undefined, 'forbidden'],
  ['failed', 608, undefined, 'forbidden'],
  ['no-answer', undefined, undefined, 'no_answer'],
  ['no-answer', 487, undefined, 'no_answer'],
  ['no-answer', 603, undefined, 'declined'],
  ['failed', 404, undefined, 'refused'],
  ['failed', 484, undefined, 'refused'],
  ['failed', 480, undefined, 'no_answer'],
  ['failed', undefined, 10_004, 'capacity'],
  ['failed', 403, 13_227, 'refused'],
  ['failed', 500, 32_009, undefined],
  ['canceled', 487, undefined, undefined],
] as const)('a call that ended as %s, SIP %s, error %s failed by %s', (status, code, subCode, failure) => {
  expect(resultOfEnd(status, { code, subCode }).failure).toBe(failure);
});

it.each([
  ['set_up', [10_001, 20_003, 20_005, 20_008, 21_205, 21_210, 21_212, 21_213, 21_606, 21_609]],
  ['capacity', [10_004, 20_429]],
  ['refused', [10_002, 13_223, 13_224, 13_225, 13_227, 21_201, 21_211, 21_214, 21_215, 21_216, 21_217, 21_219]],
  ['gone', [21_220]],
  [undefined, [99_999]],
])('a request fails by %s if it is rejected with %j', (failure, codes) => {
  expect(codes.map((code) => meaningOfError(code).failure)).toEqual(codes.map(() => failure));
});
