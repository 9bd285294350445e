import twilio from 'twilio';
import { expect, it, vi } from 'vitest';

import { type Send, TwilioPhoneLine } from '../../../../src/calls/providers/twilio/twilio-phone-line.ts';
import { must } from '../../new-case.ts';
import { ATTEMPT, CALL, callIdOf, DONE, number, outcomeOf, source, withoutPauses } from '../stage.ts';

const callId = callIdOf(`CA${'0'.repeat(32)}`);

interface Request {
  readonly method: string;
  readonly path: string;
  readonly form: URLSearchParams;
}
type Answer = { readonly status: number; readonly body: unknown } | Error;

/** A line whose requests get these answers, one after the other, without pauses; and the requests. */
const lineWith = (...answers: readonly Answer[]) => {
  withoutPauses();
  const sent: Request[] = [];
  const send: Send = async (url, { method, body = '', headers }) => {
    const { pathname, searchParams } = new URL(url);
    const form = method === 'GET' ? searchParams : new URLSearchParams(body);
    expect(headers['authorization']).toBe(`Basic ${Buffer.from('SK2:secret').toString('base64')}`);
    sent.push({ method, path: pathname.replace(/.*AC1+/, ''), form });
    const answer = answers[sent.length - 1] ?? new Error('not expected');
    if (answer instanceof Error) throw answer;
    const answered = new Headers({ 'retry-after': '3' });
    return Promise.resolve({ ...answer, headers: answered, json: async () => Promise.resolve(answer.body) });
  };
  const login = { accountSid: `AC${'1'.repeat(32)}`, apiKeySid: 'SK2', apiKeySecret: 'secret' };
  const account = { ...login, apiBaseUrl: 'https://api.example' };
  const options = { source, callsPerSecond: 1, voice: 'Polly.Joanna', callbackBaseUrl: 'https://watch.example' };
  return { line: new TwilioPhoneLine(account, { ...options, ringMs: 60_000 }, send), sent };
};

const call = (sid: string, at = 0) => ({ sid, status: 'queued', date_created: new Date(at).toUTCString() });
const placed = { status: 201, body: call(callId) };
const ended = { status: 200, body: call(callId) };
const listed = (...calls: readonly object[]) => ({ status: 200, body: { calls } });
const refused = (status: number, code: number, text = 'no') => ({ status, body: { code, message: text } });
const numbers = (own: string, voice: boolean) => ({
  status: 200,
  body: { incoming_phone_numbers: [{ phone_number: own, capabilities: { voice } }] },
});

it('sends a message, its addresses, its ringing and its longest time with the call request', async () => {
  const { line, sent } = lineWith(placed);
  expect(await line.call(CALL)).toBe(callId);
  const { form } = must(sent[0]);
  expect(Object.fromEntries(form)).toMatchObject({ To: number, From: source, Timeout: '60', TimeLimit: '300' });
  const address = `https://watch.example/api/ConfirmedFireCallback?attempt=${ATTEMPT}`;
  expect(form.get('StatusCallback')).toMatch(`${address}&on=status#`);
  expect(form.get('Twiml')).toContain('<Say voice="Polly.Joanna" language="en-US" loop="3">Smoke &amp; fire. </Say>');
  expect(form.get('Twiml')).toContain(`action="${address}&amp;on=key#`);
  expect(form.get('Twiml')).toContain(`<Redirect method="POST">${address}&amp;on=end#`);
});

it("sends the requests of Twilio's own client; waits 10 s for a call and a check, and 4.5 s for each other try", async () => {
  const timeouts = vi.spyOn(AbortSignal, 'timeout');
  const { line, sent } = lineWith(placed, ended, listed(), numbers(source, true));
  await line.call(CALL);
  await line.hangUp(callId, true);
  await line.find(number, 0);
  await line.check();
  expect(timeouts.mock.calls.map(([ms]) => ms)).toEqual([10_000, 4_500, 4_500, 10_000]);

  const theirs: Request[] = [];
  vi.spyOn(twilio.RequestClient.prototype, 'request').mockImplementation(async ({ method, uri, params, data }) => {
    const form = new URLSearchParams();
    for (const [name, values] of Object.entries(Object.assign({}, params, data)))
      for (const value of [values].flat()) form.append(name, String(value));
    theirs.push({ method: method.toUpperCase(), path: uri.replace(/.*AC1+/, ''), form });
    return Promise.resolve({ statusCode: 200, body: { calls: [], incoming_phone_numbers: [] }, headers: {} });
  });
  const client = twilio('SK2', 'secret', { accountSid: `AC${'1'.repeat(32)}` });
  const { form } = must(sent[0]);
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
  const sorted = ({ method, path, form: values }: Request) => [method, path, [...values].map(String).toSorted()];
  expect(sent.map(sorted)).toEqual(theirs.map(sorted));
});

const UNANSWERED = { failure: 'unanswered' };
const SET_UP = { failure: 'set_up' };
const failedBy = (code: string) => new TypeError('fetch failed', { cause: { code } });

it.each<[string, Answer, object]>([
  ['no answer', new DOMException('', 'TimeoutError'), { ...UNANSWERED, reason: 'no answer in time' }],
  ['a broken connection', failedBy('ECONNRESET'), { ...UNANSWERED, reason: 'connection lost' }],
  ['no connection', failedBy('ECONNREFUSED'), { failure: 'unreachable', reason: 'unreachable' }],
  ['500', refused(500, 20_500), UNANSWERED],
  ['201 without a call', { status: 201, body: {} }, { ...UNANSWERED, reason: 'unexpected answer' }],
  ['too many at once', refused(400, 10_004), { failure: 'capacity', reason: 'no line is free' }],
  ['too many requests', refused(429, 20_429), { failure: 'capacity', waitMs: 3_000 }],
  ['429 without a code', { status: 429, body: {} }, { failure: 'capacity' }],
  ['a wrong number', refused(400, 21_211, `${number} is not valid.`), { failure: 'refused', reason: 'invalid number' }],
  ['a wrong key', refused(401, 20_003), SET_UP],
  ['no such account', refused(404, 20_404), { ...SET_UP, reason: 'there is no such account' }],
  ['403 without a known code', refused(403, 1), { failure: 'forbidden' }],
  ['400 without a known code', refused(400, 1), { failure: 'rejected' }],
])('%s is a failure of a call that names no number, and is not sent again', async (_, answer, failure) => {
  const { line, sent } = lineWith(answer);
  const result = await outcomeOf(line.call(CALL));
  expect(result).toMatchObject(failure);
  expect(JSON.stringify(result)).not.toContain('2065550100');
  expect(sent).toHaveLength(1);
});

it('finds calls by their number and the time since, queued calls too, the oldest first', async () => {
  const at = Date.parse('2026-11-22T10:00:00Z');
  const [second, old] = [`CA${'1'.repeat(32)}`, `CA${'2'.repeat(32)}`];
  // The clocks may differ by 2 s.
  const { line } = lineWith(listed(call(second, at), call(callId, at - 2_000), call(old, at - 3_000)));
  expect(await line.find(number, at + 900)).toEqual([callId, second]);
});

it.each<[string, boolean, readonly Answer[], string, object?]>([
  ['cancels a call that is not known to be answered', false, [ended], 'canceled'],
  ['keeps a call that was answered in the meantime', false, [refused(400, 21_220)], 'canceled'],
  ['completes an answered call', true, [ended], 'completed'],
  ['succeeds if the call is over', true, [refused(400, 21_220)], 'completed'],
  ['succeeds if there is no such call', true, [refused(404, 20_404)], 'completed'],
  ['is sent three times at most', true, Array(3).fill(refused(500, 1)), 'completed', UNANSWERED],
])('a hang-up %s', async (_, isAnswered, answers, status, outcome = DONE) => {
  const { line, sent } = lineWith(...answers);
  expect(await outcomeOf(line.hangUp(callId, isAnswered))).toMatchObject(outcome);
  expect(sent.map(({ form }) => form.get('Status'))).toEqual(answers.map(() => status));
});

it.each<[string, Answer, object]>([
  ['has our number', numbers(source, true), DONE],
  ['has no number', { status: 200, body: { incoming_phone_numbers: [] } }, SET_UP],
  ['has another', numbers('+12065550198', true), SET_UP],
  ['has our number without voice', numbers(source, false), SET_UP],
  ['does not know our key', refused(401, 20_003), SET_UP],
  ['forbids it', refused(403, 20_003), SET_UP],
  ['is not there', refused(404, 20_404), SET_UP],
  ['answers 403 without a known code', refused(403, 1), SET_UP],
  ['does not answer', new DOMException('', 'TimeoutError'), UNANSWERED],
  ['answers 500', refused(500, 1), UNANSWERED],
])('a check of an account that %s: %j', async (_, answer, outcome) => {
  expect(await outcomeOf(lineWith(answer).line.check())).toMatchObject(outcome);
});
