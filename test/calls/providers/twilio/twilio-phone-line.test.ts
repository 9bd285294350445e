import { describe, expect, it } from 'vitest';

import { findAlertType } from '../../../../src/calls/model/alert-types.ts';
import { parseCallId, isNotificationId } from '../../../../src/calls/model/ids.ts';
import { parsePhoneNumber } from '../../../../src/calls/model/phone-number.ts';
import { OpenRequests } from '../../../../src/calls/providers/twilio/open-requests.ts';
import { type Send, TwilioApi } from '../../../../src/calls/providers/twilio/twilio-api.ts';
import { TwilioPhoneLine } from '../../../../src/calls/providers/twilio/twilio-phone-line.ts';
import { requestFaults } from '../../../emulators/twilio-api-description.ts';

const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new RangeError('missing');
  return value;
};
const number = must(parsePhoneNumber('+12065550100'));
const callId = must(parseCallId(`CA${'0'.repeat(32)}`));
const ID = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
const notificationId = must(isNotificationId(ID) ? ID : undefined);
const attempt = { notificationId, index: 0, attemptId: '3f0c1e5a-1111-4222-8333-444455556666' };
const CALL = { number, alertType: must(findAlertType('ConfirmedFire')), attempt, firstSentAt: 0 };

type Answer = { readonly status: number; readonly body: unknown } | Error;

/** A line whose requests are answered so, one after the other, and what it sent. */
const lineWith = (...answers: readonly Answer[]) => {
  const sent: { readonly method: string; readonly path: string; readonly form: URLSearchParams }[] = [];
  const send: Send = async (url, { method, body = '', headers }) => {
    const { pathname, searchParams } = new URL(url);
    const path = pathname.replace(/^\/2010-04-01\/Accounts\/AC1+/, '');
    const form = method === 'GET' ? searchParams : new URLSearchParams(body);
    expect(requestFaults(method, path, form.keys())).toEqual([]);
    expect(headers['authorization']).toBe(`Basic ${Buffer.from('SK2:secret').toString('base64')}`);
    sent.push({ method, path, form });
    const answer = answers[sent.length - 1] ?? new Error('not expected');
    if (answer instanceof Error) throw answer;
    return Promise.resolve({
      status: answer.status,
      headers: new Headers(),
      json: async () => Promise.resolve(answer.body),
    });
  };
  const account = {
    accountSid: `AC${'1'.repeat(32)}`,
    apiKeySid: 'SK2',
    apiKeySecret: 'secret',
    apiBaseUrl: 'https://api.example',
  };
  const open = new OpenRequests();
  const options = {
    source: must(parsePhoneNumber('+12065550199')),
    callsPerSecond: 1,
    detectsMachines: false,
    callbackBaseUrl: 'https://watch.example',
    ringMs: 60_000,
  };
  return { line: new TwilioPhoneLine(new TwilioApi(account, send), open, options), open, sent };
};

const call = (sid: string, status = 'queued', at = 0) => ({ sid, status, date_created: new Date(at).toUTCString() });
const refused = (status: number, code: number, message = 'no') => ({ status, body: { code, message } });

describe('a call', () => {
  it('is asked for once, with its addresses, its ringing and its longest time', async () => {
    const { line, sent } = lineWith({ status: 201, body: call(callId) });
    expect(await line.call(CALL)).toBe(callId);
    const { path, form } = must(sent[0]);
    expect(path).toBe('/Calls.json');
    expect(Object.fromEntries(form)).toMatchObject({
      To: number,
      From: '+12065550199',
      Timeout: '60',
      TimeLimit: '300',
    });
    expect(form.getAll('StatusCallbackEvent')).toEqual(['initiated', 'completed']);
    expect(form.get('Url')).toContain(`https://watch.example/api/ConfirmedFireCallback?attempt=${ID}/0/`);
  });

  it.each<[string, Answer, string, string | undefined]>([
    ['no answer', new DOMException('', 'TimeoutError'), 'unanswered', 'no answer in time'],
    ['a broken connection', new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }), 'unanswered', undefined],
    ['nobody there', new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }), 'not sent', 'unreachable'],
    ['500', refused(500, 20_500), 'unanswered', undefined],
    ['201 without a call', { status: 201, body: {} }, 'unanswered', undefined],
    ['too many at once', refused(400, 10_004), 'throttled', 'no line is free'],
    ['too many requests', refused(429, 20_429), 'throttled', undefined],
    ['a wrong number', refused(400, 21_211, `The 'To' number ${number} is not valid.`), 'refused', 'invalid number'],
    ['a wrong key', refused(401, 20_003), 'set-up', undefined],
    ['no such account', refused(404, 20_404), 'set-up', undefined],
    ['403 without a known code', refused(403, 1), 'forbidden', undefined],
    ['400 without a known code', refused(400, 1), 'rejected', undefined],
  ])('%s is a failure that names no number, and is not sent again', async (_, answer, failure, reason) => {
    const { line, sent } = lineWith(answer);
    const error: unknown = await line.call(CALL).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ failure, ...(reason === undefined ? {} : { reason }) });
    expect(JSON.stringify(error) + String(error)).not.toContain('2065550100');
    expect(sent).toHaveLength(1);
  });

  it('is found by its number and the time since, queued ones too', async () => {
    const at = Date.parse('2026-11-22T10:00:00Z');
    const old = `CA${'1'.repeat(32)}`;
    const calls = [call(callId, 'queued', at), call(old, 'completed', at - 10_000)];
    const { line, sent } = lineWith({ status: 200, body: { calls } });
    expect(await line.find(number, at + 900)).toEqual([callId]);
    expect(Object.fromEntries(must(sent[0]).form)).toEqual({ To: number, PageSize: '50' });
  });
});

describe('a hang-up', () => {
  it.each<[string, readonly Answer[], readonly string[]]>([
    ['cancels what rings', [{ status: 200, body: call(callId, 'canceled') }], ['canceled']],
    [
      'ends what was answered meanwhile',
      [
        { status: 200, body: call(callId, 'in-progress') },
        { status: 200, body: call(callId, 'completed') },
      ],
      ['canceled', 'completed'],
    ],
    [
      'ends what was answered meanwhile, if that is why it cannot be cancelled',
      [refused(400, 21_220), { status: 200, body: call(callId, 'completed') }],
      ['canceled', 'completed'],
    ],
    ['succeeds if the call is over', [refused(400, 21_220), refused(400, 21_220)], ['canceled', 'completed']],
    [
      'is sent again after an unclear answer',
      [refused(500, 1), { status: 200, body: call(callId, 'canceled') }],
      ['canceled', 'canceled'],
    ],
  ])('%s', async (_, answers, statuses) => {
    const { line, sent } = lineWith(...answers);
    await line.hangUp(callId);
    expect(sent.map(({ form }) => form.get('Status'))).toEqual(statuses);
  });

  it('is the answer to a question of Twilio, if there is one', async () => {
    const { line, open, sent } = lineWith();
    const waiting = open.wait(callId);
    await line.hangUp(callId);
    expect([await waiting, sent]).toEqual([{ kind: 'hang up' }, []]);
  });
});

describe('speaking', () => {
  it('answers a question of Twilio, and a second request for the same speech asks nothing', async () => {
    const { line, open, sent } = lineWith();
    const waiting = open.wait(callId);
    expect(await line.speak(callId, 'Hello.', { ...attempt, speech: 0 }, true)).toBe('started');
    expect(await waiting).toEqual({ kind: 'speak', text: 'Hello.', speech: 0, hasKeys: true });
    expect(await line.speak(callId, 'Hello.', { ...attempt, speech: 0 }, true)).toBe('started');
    expect(sent).toEqual([]);
  });

  it('without a question has Twilio ask: its text is not in the request, which may be too short for it', async () => {
    const { line, sent } = lineWith({ status: 200, body: call(callId, 'in-progress') });
    expect(await line.speak(callId, 'Hello.', { ...attempt, speech: 0 })).toBeUndefined();
    expect(must(sent[0]).form.get('Url')).toMatch(/on=start/);
  });
});
