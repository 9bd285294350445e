import { describe, expect, it } from 'vitest';

import { isNotificationId, type NotificationId } from '../../../../src/calls/model/ids.ts';
import { addressOf, readAddress } from '../../../../src/calls/providers/twilio/addresses.ts';
import { callEvent } from '../../../../src/calls/providers/twilio/call-events.ts';
import { meaningOfError, resultOfEnd } from '../../../../src/calls/providers/twilio/codes.ts';

const ID = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
const notificationId = ((): NotificationId => {
  if (!isNotificationId(ID)) throw new RangeError('not an id');
  return ID;
})();
const attempt = { notificationId, index: 3, attemptId: '3f0c1e5a-1111-4222-8333-444455556666' };
const PATH = 'https://watch.example/api/CustomCallback';
const SID = `CA${'0123456789abcdef'.repeat(2)}`;

const searchOf = (address: string): string => /\?[^#]*/.exec(address)?.[0] ?? '';
const read = (form: Readonly<Record<string, string>>, search = '') =>
  callEvent({ CallSid: SID, ...form }, readAddress(search));

describe('an address of ours', () => {
  it('says what the request is about, in characters that nobody on the way writes otherwise', () => {
    const address = addressOf(PATH, { occasion: 'end', attempt, speech: 1, keys: 2 });
    expect(address).toMatch(/^https:\/\/watch\.example\/api\/CustomCallback\?[\w=&/-]+#[\w=&,]+$/);
    expect(new URL(address).search).toBe(searchOf(address));
    expect(readAddress(searchOf(address))).toEqual({ occasion: 'end', attempt, speech: 1, keys: 2 });
  });

  it('asks for three tries of 5 s each', () => {
    expect(addressOf(PATH, { occasion: 'status', attempt })).toMatch(/#ct=2000&rt=5000&rc=2&rp=5xx,ct,rt$/);
  });

  it('of another system says nothing, and what is malformed is nothing', () => {
    const nothing = { occasion: undefined, attempt: undefined, speech: 0, keys: 0 };
    for (const search of ['', '?attempt=x', '?on=start&keys=-1', `?attempt=${ID}/3/no-uuid&keys=1e3`]) {
      expect(readAddress(search)).toEqual(nothing);
    }
  });
});

describe('a callback', () => {
  const status = searchOf(addressOf(PATH, { occasion: 'status', attempt }));

  it.each([
    ['a call in the queue', { CallStatus: 'initiated' }, status, { kind: 'ringing', attempt }],
    ['a phone that rings', { CallStatus: 'ringing' }, status, { kind: 'ringing' }],
    ['an answered call', { CallStatus: 'in-progress' }, status, { kind: 'connected', attempt }],
    [
      'the end',
      { CallStatus: 'completed', CallDuration: '12', SipResponseCode: '200' },
      status,
      { kind: 'disconnected', connectedMs: 12_000, result: { code: undefined } },
    ],
    [
      'a busy phone',
      { CallStatus: 'busy', SipResponseCode: '486' },
      status,
      { kind: 'create failed', result: { code: 486, reason: 'busy', failure: 'busy' } },
    ],
    [
      'a status that no row can store',
      { CallStatus: 'failed', ErrorCode: '9999999999' },
      status,
      { kind: 'create failed', result: { subCode: undefined, reason: 'failed' } },
    ],
    [
      'a key',
      { CallStatus: 'in-progress', Digits: '21' },
      '?on=key&keys=7',
      { kind: 'tone received', key: { key: '2', sequence: 7 } },
    ],
    [
      'the end of a repeat',
      { CallStatus: 'in-progress' },
      searchOf(addressOf(PATH, { occasion: 'end', attempt, speech: 2 })),
      { kind: 'play completed', speech: 2, attempt },
    ],
  ] as const)('reports %s', (_, form, search, event) => {
    expect(read(form, search)).toMatchObject({ callId: SID, ...event });
  });

  it('without a call id of Twilio is none; of a status that is not used it reports nothing', () => {
    for (const CallSid of ['', 'x', '../../Accounts', `CA${'0'.repeat(31)}`, `${SID}/x`]) {
      expect(read({ CallSid, CallStatus: 'in-progress' }, status)).toBeUndefined();
    }
    expect(read({ CallStatus: 'paused' }, status)).toBe('other');
    expect(read({ CallStatus: 'in-progress' }, '?on=key')).toBe('other');
  });
});

it.each([
  ['busy', 486, undefined, 'busy'],
  ['busy', 603, undefined, 'declined'],
  ['busy', 600, undefined, 'busy'],
  ['failed', 607, undefined, 'forbidden'],
  ['failed', 608, undefined, 'forbidden'],
  ['failed', 408, undefined, 'no_answer'],
  ['no-answer', undefined, undefined, 'no_answer'],
  ['no-answer', 487, undefined, 'no_answer'],
  ['no-answer', 603, undefined, 'declined'],
  ['failed', 404, undefined, 'refused'],
  ['failed', 484, undefined, 'refused'],
  ['failed', 403, undefined, 'forbidden'],
  ['failed', 480, undefined, 'no_answer'],
  ['failed', undefined, 10_004, 'capacity'],
  ['failed', 403, 13_227, 'refused'],
  ['failed', undefined, 21_210, 'set_up'],
  ['failed', 500, 32_009, undefined],
  ['canceled', 487, undefined, undefined],
] as const)('a call that ended as %s, SIP %s, error %s failed by %s', (status, code, subCode, failure) => {
  expect(resultOfEnd(status, { code, subCode }).failure).toBe(failure);
});

it.each([
  [10_001, 'set_up'],
  [10_002, 'refused'],
  [10_004, 'capacity'],
  [13_223, 'refused'],
  [13_224, 'refused'],
  [13_225, 'refused'],
  [20_003, 'set_up'],
  [20_005, 'set_up'],
  [20_429, 'capacity'],
  [21_201, 'refused'],
  [21_211, 'refused'],
  [21_212, 'set_up'],
  [21_213, 'set_up'],
  [21_214, 'refused'],
  [21_215, 'refused'],
  [21_216, 'refused'],
  [21_217, 'refused'],
  [21_219, 'refused'],
  [21_220, 'gone'],
  [21_606, 'set_up'],
  [99_999, undefined],
] as const)('a request that is refused with %s fails by %s', (code, failure) => {
  expect(meaningOfError(code).failure).toBe(failure);
});
