import { text } from 'node:stream/consumers';

import { expect, it, onTestFinished, vi } from 'vitest';

import { findAlertType } from '../../../../src/calls/model/alert-types.ts';
import { isNotificationId, parseCallId } from '../../../../src/calls/model/ids.ts';
import { PhoneLineError } from '../../../../src/calls/model/phone-line.ts';
import { parsePhoneNumber } from '../../../../src/calls/model/phone-number.ts';
import { AcsPhoneLine, connectToAcs } from '../../../../src/calls/providers/acs/acs-phone-line.ts';
import { LoopbackServer } from '../../../harness/loopback-server.ts';

const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new RangeError('missing');
  return value;
};
const callId = must(parseCallId('a-call'));
const number = must(parsePhoneNumber('+12065550100'));
const ID = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
const notificationId = must(isNotificationId(ID) ? ID : undefined);
const attempt = { notificationId, index: 3, attemptId: 'an-attempt' };
const request = {
  number,
  alertType: must(findAlertType('ConfirmedFire')),
  message: { unit: '', hasKeys: false },
  attempt,
  firstSentAt: Date.parse('2026-11-21T08:00:00Z'),
};

/** What a request is answered with: a status, and ACS's code, or a wait in seconds. */
type Answer = readonly [status: number, code?: string, retryAfter?: string];

/** A line whose requests are answered so, one after the other, and what it sent. */
const lineWith = async (...answers: readonly Answer[]) => {
  const sent: { readonly asked: string; readonly id: unknown; readonly body: string }[] = [];
  const server = await LoopbackServer.start((incoming, response) => {
    void text(incoming).then((body) => {
      const [status, code, retryAfter] = answers[sent.length] ?? [500];
      const path = (incoming.url ?? '').replace(/\?.*/, '').replace('/calling/callConnections', '');
      sent.push({ asked: `${incoming.method} ${path}`, id: incoming.headers['repeatability-request-id'], body });
      const wait = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      response.writeHead(status, { 'content-type': 'application/json', ...wait });
      if (status === 201) response.end(JSON.stringify({ callConnectionId: code }));
      else response.end(code === undefined ? '' : JSON.stringify({ error: { code, message: 'a message' } }));
    });
  });
  onTestFinished(() => server.stop());
  return { ...lineTo(server), sent };
};

const lineTo = ({ port }: LoopbackServer) => {
  const connectionString = `endpoint=http://127.0.0.1:${port}/;accesskey=dGVzdA==`;
  const client = connectToAcs({ connectionString }, { getToken: () => Promise.resolve(null) });
  const caller = { teamsResourceAccountId: 'an-account' };
  const options = { caller, cognitiveServicesEndpoint: '', callbackBaseUrl: 'https://watch.example' };
  return { line: new AcsPhoneLine(() => client, options) };
};

/** How the request failed. */
const outcomeOf = async (doing: Promise<unknown>): Promise<unknown> =>
  doing.then(
    () => DONE,
    (error: unknown) => (error instanceof PhoneLineError ? error.result : error),
  );

it('sends a call request again with the same id, until it is answered', async () => {
  const { line, sent } = await lineWith([500], [201, 'the-call']);
  expect(await line.call({ ...request, callbackBaseUrl: 'https://test.example' })).toBe('the-call');
  expect(sent.map(({ id }) => id)).toEqual(['an-attempt', 'an-attempt']);
  expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject({
    callbackUri: 'https://test.example/api/ConfirmedFireCallback',
    operationContext: `${ID}/3/an-attempt`,
    teamsAppSource: { appId: 'an-account' },
  });
});

it.each<[readonly Answer[], object]>([
  // The queue decides when to ask again.
  [[[429, 'TooManyRequests', '7']], { failure: 'capacity', waitMs: 7_000 }],
  [[[500], [500], [500]], { failure: 'unanswered' }],
  // An earlier try may have placed the call.
  [[[500], [403, '7504']], { failure: 'unanswered' }],
  [[[404]], { failure: 'set_up' }],
  [[[201, '..']], { failure: 'unanswered' }],
])('a call request that is answered %j fails: %j', async (answers, failed) => {
  const { line, sent } = await lineWith(...answers);
  expect(await outcomeOf(line.call(request))).toMatchObject(failed);
  expect(sent).toHaveLength(answers.length);
});

it.each([
  [0, `${ID}/3/an-attempt`, undefined],
  [1, `${ID}/3/an-attempt/1`, true],
  [9, `${ID}/3/an-attempt/9`, true],
] as const)('speech %i has the context %s; all but the message interrupt: %s', async (speech, context, interrupts) => {
  const { line, sent } = await lineWith([202]);
  await line.media.speak(callId, 'a text', { ...attempt, speech });
  expect(JSON.parse(sent[0]?.body ?? '')).toEqual({
    playSources: [expect.anything()],
    playTo: [],
    playOptions: { loop: false },
    operationContext: context,
    ...(interrupts === undefined ? {} : { interruptCallMediaOperation: interrupts }),
  });
});

const DONE = { isDone: true };
const ASKED = {
  speak: /^POST \/a-call:play$/,
  listen: /^POST \/a-call:startContinuousDtmfRecognition$/,
  hangUp: /^POST \/a-call:terminate$/,
  check: /^GET \/[0-9a-f-]{36}$/,
};
const SPEECH_REFUSED = {
  failure: 'no_speech',
  reason: 'speech refused',
  operatorHint: expect.stringContaining('Cognitive Services User'),
};

it('waits for 4.5 s for a call, 10 s for speech, 4 s for a hang-up and 5 s for a check, each time', async () => {
  const timeouts = vi.spyOn(AbortSignal, 'timeout');
  const { line } = await lineWith([201, 'the-call'], [202], [204], [404]);
  await line.call(request);
  await line.media.speak(callId, 'a text');
  await line.hangUp(callId);
  await line.check();
  expect(timeouts.mock.calls.map(([ms]) => ms)).toEqual([4_500, 10_000, 4_000, 5_000]);
});

it('gives up a request to listen that is not answered for 5 s', async () => {
  const server = await LoopbackServer.start((incoming) => incoming.resume());
  onTestFinished(() => server.stop());
  const { line } = lineTo(server);
  const begin = performance.now();
  expect(await outcomeOf(line.media.listen(callId, number, attempt))).toMatchObject({ failure: 'unanswered' });
  expect(performance.now() - begin).toSatisfy((ms: number) => ms > 4_500 && ms < 20_000);
});

it('speaks again half a second after it was too early', async () => {
  const { line } = await lineWith([400, '8585'], [202]);
  const begin = performance.now();
  await line.media.speak(callId, 'a text');
  expect(performance.now() - begin).toSatisfy((ms: number) => ms > 450 && ms < 4_500);
});

it.each<['speak' | 'listen' | 'hangUp' | 'check', readonly Answer[], object]>([
  // Not in the right state: half a second later it is.
  ['speak', [[400, '8585'], [202]], DONE],
  ['speak', [[400, '8500'], [202]], DONE],
  ['speak', [[400, '8528']], { failure: 'gone', subCode: 8_528 }],
  [
    'speak',
    [
      [400, '8585'],
      [400, '8528'],
    ],
    { failure: 'gone', subCode: 8_528 },
  ],
  [
    'speak',
    [
      [429, 'TooManyRequests', '0'],
      [400, '8565'],
    ],
    SPEECH_REFUSED,
  ],
  // It may be spoken already: never twice.
  ['speak', [[500]], { failure: 'unanswered', reason: 'answered 500' }],
  ['listen', [[429, 'TooManyRequests', '0'], [200]], DONE],
  ['listen', [[500]], { failure: 'unanswered' }],
  ['hangUp', [[404, '8522']], DONE],
  ['hangUp', [[400, '8501']], DONE],
  ['hangUp', [[400, '8528']], DONE],
  ['hangUp', [[400, '8585']], DONE],
  ['hangUp', [[410]], DONE],
  ['hangUp', [[500], [500], [500], [204]], DONE],
  ['hangUp', [[400]], { failure: 'rejected' }],
  // Nobody has this call: ACS knows us.
  ['check', [[404, '8522']], DONE],
  ['check', [[401]], { failure: 'set_up' }],
  ['check', [[403]], { failure: 'set_up' }],
  ['check', [[500], [500]], { failure: 'unanswered' }],
])('a request to %s that is answered %j: %j', async (what, answers, expected) => {
  const { line, sent } = await lineWith(...answers);
  const requests = {
    speak: () => line.media.speak(callId, 'a text'),
    listen: () => line.media.listen(callId, number, attempt),
    hangUp: () => line.hangUp(callId),
    check: () => line.check(),
  };
  const outcome = await outcomeOf(requests[what]());
  expect(outcome).toMatchObject(expected);
  expect(sent).toHaveLength(answers.length);
  expect(sent[0]?.asked).toMatch(ASKED[what]);
});
