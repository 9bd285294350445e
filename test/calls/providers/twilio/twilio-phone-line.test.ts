import twilio from 'twilio';
import { describe, expect, it, vi } from 'vitest';

import { findAlertType } from '../../../../src/calls/model/alert-types.ts';
import { isNotificationId, parseCallId } from '../../../../src/calls/model/ids.ts';
import { PhoneLineError } from '../../../../src/calls/model/phone-line.ts';
import { parsePhoneNumber } from '../../../../src/calls/model/phone-number.ts';
import { type Send, TwilioApi } from '../../../../src/calls/providers/twilio/twilio-api.ts';
import { TwilioPhoneLine } from '../../../../src/calls/providers/twilio/twilio-phone-line.ts';

const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new RangeError('missing');
  return value;
};
const number = must(parsePhoneNumber('+12065550100'));
const source = must(parsePhoneNumber('+12065550199'));
const callId = must(parseCallId(`CA${'0'.repeat(32)}`));
const ID = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
const notificationId = must(isNotificationId(ID) ? ID : undefined);
const attempt = { notificationId, index: 0, attemptId: '3f0c1e5a-1111-4222-8333-444455556666' };
const message = { unit: 'Smoke & fire. ', hasKeys: true };
const CALL = { number, alertType: must(findAlertType('ConfirmedFire')), message, attempt, firstSentAt: 0 };

type Answer = { readonly status: number; readonly body: unknown } | Error;

/** A line whose requests are answered so, one after the other, and what it sent. */
const lineWith = (...answers: readonly Answer[]) => {
  const sent: { readonly method: string; readonly path: string; readonly form: URLSearchParams }[] = [];
  const send: Send = async (url, { method, body = '', headers }) => {
    const { pathname, searchParams } = new URL(url);
    const path = pathname.replace(/^\/2010-04-01\/Accounts\/AC1+/, '');
    const form = method === 'GET' ? searchParams : new URLSearchParams(body);
    expect(headers['authorization']).toBe(`Basic ${Buffer.from('SK2:secret').toString('base64')}`);
    sent.push({ method, path, form });
    const answer = answers[sent.length - 1] ?? new Error('not expected');
    if (answer instanceof Error) throw answer;
    return Promise.resolve({
      status: answer.status,
      headers: new Headers({ 'retry-after': '3' }),
      json: async () => Promise.resolve(answer.body),
    });
  };
  const account = {
    accountSid: `AC${'1'.repeat(32)}`,
    apiKeySid: 'SK2',
    apiKeySecret: 'secret',
    apiBaseUrl: 'https://api.example',
  };
  const options = {
    source,
    callsPerSecond: 1,
    voice: 'Polly.Joanna',
    callbackBaseUrl: 'https://watch.example',
    ringMs: 60_000,
  };
  return { line: new TwilioPhoneLine(new TwilioApi(account, send), options), sent };
};

const call = (sid: string, at = 0) => ({ sid, status: 'queued', date_created: new Date(at).toUTCString() });
const refused = (status: number, code: number, text = 'no') => ({ status, body: { code, message: text } });

/** How a request failed; empty: it did not. */
const failed = async (doing: Promise<unknown>): Promise<unknown> =>
  doing.then(
    () => ({}),
    (error: unknown) => (error instanceof PhoneLineError ? error.result : error),
  );

describe('a call', () => {
  it('is asked for once, with its message, its addresses, its ringing and its longest time', async () => {
    const { line, sent } = lineWith({ status: 201, body: call(callId) });
    expect(await line.call(CALL)).toBe(callId);
    const { path, form } = must(sent[0]);
    expect(path).toBe('/Calls.json');
    expect(Object.fromEntries(form)).toMatchObject({ To: number, From: source, Timeout: '60', TimeLimit: '300' });
    expect(form.getAll('StatusCallbackEvent')).toEqual(['initiated', 'answered', 'completed']);
    const address = `https://watch.example/api/ConfirmedFireCallback?attempt=${ID}/0/${attempt.attemptId}`;
    expect(form.get('StatusCallback')).toMatch(`${address}&on=status#`);
    expect(form.get('Twiml')).toContain('<Say voice="Polly.Joanna" language="en-US" loop="3">Smoke &amp; fire. </Say>');
    expect(form.get('Twiml')).toContain(`action="${address}&amp;on=key#`);
    expect(form.get('Twiml')).toContain(`<Redirect method="POST">${address}&amp;on=end#`);
  });

  it.each<[string, Answer, object]>([
    ['no answer', new DOMException('', 'TimeoutError'), { failure: 'unanswered', reason: 'no answer in time' }],
    [
      'a broken connection',
      new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }),
      { failure: 'unanswered', reason: 'connection lost' },
    ],
    [
      'nobody there',
      new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }),
      { failure: 'unreachable', reason: 'unreachable' },
    ],
    ['500', refused(500, 20_500), { failure: 'unanswered' }],
    ['201 without a call', { status: 201, body: {} }, { failure: 'unanswered', reason: 'unexpected answer' }],
    ['too many at once', refused(400, 10_004), { failure: 'capacity', reason: 'no line is free' }],
    ['too many requests', refused(429, 20_429), { failure: 'capacity', waitMs: 3_000 }],
    ['429 without a code', { status: 429, body: {} }, { failure: 'capacity' }],
    [
      'a wrong number',
      refused(400, 21_211, `The 'To' number ${number} is not valid.`),
      { failure: 'refused', reason: 'invalid number' },
    ],
    ['a wrong key', refused(401, 20_003), { failure: 'set_up' }],
    ['no such account', refused(404, 20_404), { failure: 'set_up', reason: 'there is no such account' }],
    ['403 without a known code', refused(403, 1), { failure: 'forbidden' }],
    ['400 without a known code', refused(400, 1), { failure: 'rejected' }],
  ])('%s is a failure that names no number, and is not sent again', async (_, answer, failure) => {
    const { line, sent } = lineWith(answer);
    const result = await failed(line.call(CALL));
    expect(result).toMatchObject(failure);
    expect(JSON.stringify(result)).not.toContain('2065550100');
    expect(sent).toHaveLength(1);
  });

  it('is found by its number and the time since, queued ones too, the oldest first', async () => {
    const at = Date.parse('2026-11-22T10:00:00Z');
    const [second, old] = [`CA${'1'.repeat(32)}`, `CA${'2'.repeat(32)}`];
    // The clocks may differ by 2 s.
    const calls = [call(second, at), call(callId, at - 2_000), call(old, at - 3_000)];
    const { line, sent } = lineWith({ status: 200, body: { calls } });
    expect(await line.find(number, at + 900)).toEqual([callId, second]);
    expect(Object.fromEntries(must(sent[0]).form)).toEqual({ To: number, PageSize: '50' });
  });
});

it.each<[string, boolean, readonly Answer[], readonly string[]]>([
  ['cancels a call that is not known to be answered', false, [{ status: 200, body: call(callId) }], ['canceled']],
  ['leaves it in peace if it was answered meanwhile', false, [refused(400, 21_220)], ['canceled']],
  ['completes an answered call', true, [{ status: 200, body: call(callId) }], ['completed']],
  ['succeeds if the call is over', true, [refused(400, 21_220)], ['completed']],
  ['succeeds if there is no such call', true, [refused(404, 20_404)], ['completed']],
  [
    'is sent again after an unclear answer',
    false,
    [refused(500, 1), refused(500, 1), { status: 200, body: call(callId) }],
    ['canceled', 'canceled', 'canceled'],
  ],
])('a hang-up %s', async (_, isAnswered, answers, statuses) => {
  const { line, sent } = lineWith(...answers);
  await line.hangUp(callId, isAnswered);
  expect(sent.map(({ form }) => form.get('Status'))).toEqual(statuses);
});

it('sends a hang-up three times at most', async () => {
  const { line, sent } = lineWith(refused(500, 1), refused(500, 1), refused(500, 1));
  expect(await failed(line.hangUp(callId, true))).toMatchObject({ failure: 'unanswered' });
  expect(sent).toHaveLength(3);
});

it("sends the requests of Twilio's own client", async () => {
  const theirs: { readonly method: string; readonly path: string; readonly form: URLSearchParams }[] = [];
  vi.spyOn(twilio.RequestClient.prototype, 'request').mockImplementation(
    async ({ method, uri, params = {}, data = {} }) => {
      const form = new URLSearchParams();
      for (const [name, values] of Object.entries(Object.assign({}, params, data)))
        for (const value of [values].flat()) form.append(name, String(value));
      theirs.push({ method: method.toUpperCase(), path: uri.replace(/.*AC1+/, ''), form });
      return Promise.resolve({ statusCode: 200, body: { calls: [], incoming_phone_numbers: [] }, headers: {} });
    },
  );
  const client = twilio('SK2', 'secret', { accountSid: `AC${'1'.repeat(32)}` });
  const { line, sent } = lineWith(
    { status: 201, body: call(callId) },
    { status: 200, body: call(callId) },
    { status: 200, body: { calls: [] } },
    numbers(source, true),
  );
  await line.call(CALL);
  await line.hangUp(callId, true);
  await line.find(number, 0);
  await line.check();
  const form = must(sent[0]).form;
  await client.calls.create({
    to: number,
    from: source,
    twiml: form.get('Twiml') ?? '',
    statusCallback: form.get('StatusCallback') ?? '',
    statusCallbackMethod: 'POST',
    statusCallbackEvent: ['initiated', 'answered', 'completed'],
    timeout: 60,
    timeLimit: 300,
  });
  await client.calls(callId).update({ status: 'completed' });
  await client.calls.list({ to: number, pageSize: 50 });
  await client.incomingPhoneNumbers.list({ phoneNumber: source });
  const sorted = ({ method, path, form: values }: (typeof sent)[number]) => [
    method,
    path,
    [...values].map(String).toSorted(),
  ];
  expect(sent.map(sorted)).toEqual(theirs.map(sorted));
});

it('waits for 10 s for a call and a check, and for 4.5 s for each try of the rest', async () => {
  const timeouts = vi.spyOn(AbortSignal, 'timeout');
  const listed = { status: 200, body: { calls: [] } };
  const { line } = lineWith({ status: 201, body: call(callId) }, listed, numbers(source, true));
  await line.call(CALL);
  await line.find(number, 0);
  await line.check();
  expect(timeouts.mock.calls.map(([ms]) => ms)).toEqual([10_000, 4_500, 10_000]);
});

const numbers = (phone_number: string, voice: boolean) => ({
  status: 200,
  body: { incoming_phone_numbers: [{ phone_number, capabilities: { voice } }] },
});

it.each<[string, Answer, object]>([
  ['has our number', numbers(source, true), {}],
  ['has none', { status: 200, body: { incoming_phone_numbers: [] } }, { failure: 'set_up' }],
  ['has another', numbers('+12065550198', true), { failure: 'set_up' }],
  ['has our number without voice', numbers(source, false), { failure: 'set_up' }],
  ['does not know our key', refused(401, 20_003), { failure: 'set_up' }],
  ['forbids it', refused(403, 20_003), { failure: 'set_up' }],
  ['is not there', refused(404, 20_404), { failure: 'set_up' }],
  ['answers 403 without a known code', refused(403, 1), { failure: 'set_up' }],
  ['does not answer', new DOMException('', 'TimeoutError'), { failure: 'unanswered' }],
  ['answers 500', refused(500, 1), { failure: 'unanswered' }],
])('a check of an account that %s: %j', async (_, answer, failure) => {
  const { line, sent } = lineWith(answer);
  const result = await failed(line.check());
  expect(result).toMatchObject(failure);
  expect(Object.keys(Object(result)).length > 0).toBe(Object.keys(failure).length > 0);
  expect(sent.map(({ path, form }) => [path, form.get('PhoneNumber')])).toEqual([
    ['/IncomingPhoneNumbers.json', source],
  ]);
});
