import twilio from 'twilio';
import { expect, it, onTestFinished, vi } from 'vitest';

import { type Send, TwilioProvider } from '../../../../src/calls/providers/twilio/twilio-provider.ts';
import { LoopbackServer } from '../../../harness/loopback-server.ts';
import { must } from '../../new-case.ts';
import { ATTEMPT, CALL, callIdOf, DONE, number, outcomeOf, source, withoutPauses } from '../stage.ts';

const callId = callIdOf(`CA${'0'.repeat(32)}`);

interface Request {
  readonly method: string;
  readonly path: string;
  readonly form: URLSearchParams;
}
type Answer = { readonly status: number; readonly body: unknown } | Error;

/** A provider whose requests get these answers, one after the other, without pauses; and the requests. */
const providerWith = (...answers: readonly Answer[]) => {
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
  return { provider: new TwilioProvider(account, { ...options, ringMs: 60_000 }, send), sent };
};

const placed = { status: 201, body: { sid: callId, status: 'queued' } };
const ended = { status: 200, body: { sid: callId, status: 'completed' } };
const rejected = (status: number, code: number, text = 'no') => ({ status, body: { code, message: text } });
const numbers = (own: string, voice: boolean) => ({
  status: 200,
  body: { incoming_phone_numbers: [{ phone_number: own, capabilities: { voice } }] },
});

it('sends a message, its addresses, its ringing and its longest time with the call request', async () => {
  const { provider, sent } = providerWith(placed);
  expect(await provider.call(CALL)).toBe(callId);
  const { form } = must(sent[0]);
  expect(Object.fromEntries(form)).toMatchObject({ To: number, From: source, Timeout: '60', TimeLimit: '300' });
  const address = `https://watch.example/api/ConfirmedFireCallback?attempt=${ATTEMPT}`;
  expect(form.get('StatusCallback')).toMatch(`${address}&on=status#`);
  expect(form.get('Twiml')).toContain('<Say voice="Polly.Joanna" language="en-US" loop="3">Smoke &amp; fire. </Say>');
  expect(form.get('Twiml')).toContain(`action="${address}&amp;on=key#`);
  expect(form.get('Twiml')).toContain(`<Redirect method="POST">${address}&amp;on=end#`);
});

it('follows no redirect: a call request is sent once', async () => {
  withoutPauses();
  const paths: unknown[] = [];
  const server = await LoopbackServer.start((request, response) => {
    paths.push(request.url);
    response.writeHead(paths.length > 1 ? 201 : 307, { location: '/elsewhere' });
    response.end(JSON.stringify(placed.body));
  });
  onTestFinished(async () => server.stop());
  const login = { accountSid: `AC${'1'.repeat(32)}`, apiKeySid: 'SK2', apiKeySecret: 'secret' };
  const account = { ...login, apiBaseUrl: `http://127.0.0.1:${server.port}` };
  const options = { source, callsPerSecond: 1, voice: 'Polly.Joanna', callbackBaseUrl: 'https://watch.example' };
  const provider = new TwilioProvider(account, { ...options, ringMs: 60_000 });
  expect(await outcomeOf(provider.call(CALL))).toMatchObject({ failure: 'unanswered' });
  expect(paths).toHaveLength(1);
});

it("sends the requests of Twilio's own client; waits 10 s for a call and a check, and 4.5 s for a hang-up", async () => {
  const timeouts = vi.spyOn(AbortSignal, 'timeout');
  const { provider, sent } = providerWith(placed, ended, numbers(source, true));
  await provider.call(CALL);
  await provider.hangUp(callId, true);
  await provider.check();
  expect(timeouts.mock.calls.map(([ms]) => ms)).toEqual([10_000, 4_500, 10_000]);

  const theirs: Request[] = [];
  vi.spyOn(twilio.RequestClient.prototype, 'request').mockImplementation(async ({ method, uri, params, data }) => {
    const form = new URLSearchParams();
    for (const [name, values] of Object.entries(Object.assign({}, params, data)))
      for (const value of [values].flat()) form.append(name, String(value));
    theirs.push({ method: method.toUpperCase(), path: uri.replace(/.*AC1+/, ''), form });
    return Promise.resolve({ statusCode: 200, body: { incoming_phone_numbers: [] }, headers: {} });
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
  await client.incomingPhoneNumbers.list({ phoneNumber: source });
  const sorted = ({ method, path, form: values }: Request) => [method, path, [...values].map(String).toSorted()];
  expect(sent.map(sorted)).toEqual(theirs.map(sorted));
});

const UNANSWERED = { failure: 'unanswered' };
const GONE = { answer: 'gone' };
const CALL_IS_OVER = rejected(400, 21_220);
const SET_UP = { failure: 'set_up' };
const failedBy = (code: string) => new TypeError('fetch failed', { cause: { code } });

it.each<[string, Answer, object]>([
  ['no answer', new DOMException('', 'TimeoutError'), { ...UNANSWERED, reason: 'no answer in time' }],
  ['a broken connection', failedBy('ECONNRESET'), { ...UNANSWERED, reason: 'connection lost' }],
  ['no connection', failedBy('ECONNREFUSED'), { failure: 'unreachable', reason: 'unreachable' }],
  ['500', rejected(500, 20_500), UNANSWERED],
  ['201 without a call', { status: 201, body: {} }, { ...UNANSWERED, reason: 'unexpected answer' }],
  ['too many at once', rejected(400, 10_004), { failure: 'capacity', reason: 'no line is free' }],
  ['too many requests', rejected(429, 20_429), { failure: 'capacity', waitMs: 3_000 }],
  ['429 without a code', { status: 429, body: {} }, { failure: 'capacity' }],
  [
    'a wrong number',
    rejected(400, 21_211, `${number} is not valid.`),
    { failure: 'refused', reason: 'invalid number' },
  ],
  ['a wrong key', rejected(401, 20_003), SET_UP],
  ['no such account', rejected(404, 20_404), { ...SET_UP, reason: 'there is no such account' }],
  ['403 without a known code', rejected(403, 1), { failure: 'forbidden' }],
  // The service does not know what is wrong.
  ['400 without a known code', rejected(400, 1), { failure: 'rejected', subCode: 1 }],
  ['an address that is not accepted', rejected(400, 21_609), { ...SET_UP, operatorHint: 'CALLBACK_BASE_URL' }],
  ['test credentials', rejected(403, 20_008), { ...SET_UP, operatorHint: 'TWILIO_API_KEY_SID' }],
])('%s is a failure of a call that names no number, and is not sent again', async (_, answer, failure) => {
  const { provider, sent } = providerWith(answer);
  const result = await outcomeOf(provider.call(CALL));
  expect(result).toMatchObject(failure);
  expect(JSON.stringify(result)).not.toContain('2065550100');
  expect(sent).toHaveLength(1);
});

it.each<[string, boolean, readonly Answer[], string, object?]>([
  ['cancels a call that is not known to be answered', false, [ended], 'canceled'],
  ['completes an answered call', true, [ended], 'completed'],
  ['finds that the call is over', true, [rejected(400, 21_220)], 'completed', GONE],
  ['finds no such call', true, [rejected(404, 20_404)], 'completed', GONE],
  [
    'finds that the call is over after it was surely not carried out',
    true,
    [rejected(429, 1), CALL_IS_OVER],
    'completed',
    GONE,
  ],
  // The first request may have ended the call, or the callee did before it.
  ['that was not answered may have ended the call', true, [rejected(500, 1), CALL_IS_OVER], 'completed', GONE],
  ['is sent three times at most', true, Array(3).fill(rejected(500, 1)), 'completed', UNANSWERED],
])('a hang-up %s', async (_, isAnswered, answers, status, outcome = { answer: 'hung up' }) => {
  const { provider, sent } = providerWith(...answers);
  expect(await outcomeOf(provider.hangUp(callId, isAnswered))).toMatchObject(outcome);
  expect(sent.map(({ form }) => form.get('Status'))).toEqual(answers.map(() => status));
});

it.each<[string, Answer, object]>([
  ['has our number', numbers(source, true), DONE],
  ['has no number', { status: 200, body: { incoming_phone_numbers: [] } }, SET_UP],
  ['has another', numbers('+12065550198', true), SET_UP],
  ['has our number without voice', numbers(source, false), SET_UP],
  ['does not know our key', rejected(401, 20_003), SET_UP],
  ['forbids it', rejected(403, 20_003), SET_UP],
  ['is not there', rejected(404, 20_404), SET_UP],
  ['answers 403 without a known code', rejected(403, 1), SET_UP],
  ['does not answer', new DOMException('', 'TimeoutError'), UNANSWERED],
  ['answers 500', rejected(500, 1), UNANSWERED],
])('a check of an account that %s: %j', async (_, answer, outcome) => {
  expect(await outcomeOf(providerWith(answer).provider.check())).toMatchObject(outcome);
});
