import { describe, expect, it } from 'vitest';

import { addressOf, readAddress } from '../../../../src/calls/providers/twilio/addresses.ts';
import { readCallEvent } from '../../../../src/calls/providers/twilio/call-events.ts';
import { meaningOfEnd, meaningOfError } from '../../../../src/calls/providers/twilio/result-meaning.ts';
import { isNotificationId, type NotificationId } from '../../../../src/calls/model/ids.ts';

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
  readCallEvent({ CallSid: SID, ...form }, readAddress(search));

describe('an address of ours', () => {
  it('says what the request is about, in characters that nobody on the way writes otherwise', () => {
    const address = addressOf(PATH, { occasion: 'end', attempt, speech: 1, step: 4, again: 2 });
    expect(address).toMatch(/^https:\/\/watch\.example\/api\/CustomCallback\?[\w=&/-]+#[\w=&,]+$/);
    expect(new URL(address).search).toBe(searchOf(address));
    expect(readAddress(searchOf(address))).toEqual({ occasion: 'end', attempt, speech: 1, step: 4, again: 2 });
  });

  it('of another system says nothing, and what is malformed is nothing', () => {
    const nothing = { occasion: undefined, attempt: undefined, speech: 0, step: 0, again: 0 };
    for (const search of ['', '?attempt=x', '?on=other&step=-1&again=1e3', `?attempt=${ID}/3/no-uuid`]) {
      expect(readAddress(search)).toEqual(nothing);
    }
  });
});

describe('a callback', () => {
  const start = searchOf(addressOf(PATH, { occasion: 'start', attempt }));
  const status = searchOf(addressOf(PATH, { occasion: 'status', attempt }));

  it.each([
    [
      'the first question: somebody has answered',
      { CallStatus: 'in-progress' },
      start,
      { kind: 'connected', isAwaiting: true, isMachine: false, attempt },
    ],
    [
      'a machine',
      { CallStatus: 'in-progress', AnsweredBy: 'machine_start' },
      start,
      { kind: 'connected', isMachine: true },
    ],
    [
      'a call of another system, before it is answered',
      { CallStatus: 'ringing' },
      '',
      { kind: 'connected', attempt: undefined },
    ],
    [
      'a key',
      { CallStatus: 'in-progress', Digits: '2' },
      '?on=key&step=7',
      { kind: 'tone received', key: { key: '2', sequence: 7 }, isAwaiting: true },
    ],
    [
      'the end of a speech',
      { CallStatus: 'in-progress' },
      '?on=end',
      { kind: 'play completed', speech: 0, isAwaiting: true },
    ],
    ['dialled', { CallStatus: 'initiated' }, status, { kind: 'ringing', attempt }],
    [
      'over',
      { CallStatus: 'completed', CallDuration: '12', SipResponseCode: '200' },
      status,
      { kind: 'disconnected', connectedMs: 12_000 },
    ],
    [
      'busy',
      { CallStatus: 'busy', SipResponseCode: '486' },
      status,
      { kind: 'create failed', result: { code: 486, reason: 'busy', meaning: 'busy' } },
    ],
    [
      'told without our address',
      { CallStatus: 'no-answer', CallbackSource: 'call-progress-events' },
      '',
      { kind: 'create failed', result: { meaning: 'no_answer' } },
    ],
  ] as const)('%s', (_, form, search, event) => {
    expect(read(form, search)).toMatchObject({ callId: SID, ...event });
  });

  it('without a call id of Twilio is none; of a state that is not used it reports nothing', () => {
    for (const CallSid of ['', 'x', '../../Accounts', `CA${'0'.repeat(31)}`, `${SID}/x`]) {
      expect(read({ CallSid, CallStatus: 'in-progress' }, start)).toBeUndefined();
    }
    expect(read({ CallStatus: 'in-progress' }, status)).toBe('other');
  });
});

it.each([
  ['busy', 486, undefined, 'busy'],
  ['busy', 603, undefined, 'declined'],
  ['no-answer', 487, undefined, 'no_answer'],
  ['no-answer', 603, undefined, 'declined'],
  ['failed', 404, undefined, 'refused'],
  ['failed', 403, undefined, 'forbidden'],
  ['failed', undefined, 10_004, 'no_line'],
  ['failed', 403, 13_227, 'refused'],
  ['failed', undefined, 21_210, 'set_up'],
  ['failed', 500, 32_009, undefined],
  ['canceled', 487, undefined, undefined],
] as const)('a call that ended as %s, SIP %s, error %s means %s', (ended, code, subCode, meaning) => {
  expect(meaningOfEnd(ended, { code, subCode }).meaning).toBe(meaning);
});

it.each([
  [21_211, 'refused'],
  [21_214, 'refused'],
  [21_215, 'refused'],
  [21_217, 'refused'],
  [13_224, 'refused'],
  [13_225, 'refused'],
  [21_212, 'set_up'],
  [21_606, 'set_up'],
  [20_003, 'set_up'],
  [20_429, 'no_line'],
  [10_004, 'no_line'],
  [21_220, undefined],
  [99_999, undefined],
] as const)('a request that is refused with %s means %s', (code, meaning) => {
  expect(meaningOfError(code).meaning).toBe(meaning);
});
