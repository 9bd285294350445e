import type { CallAutomationClient } from '@azure/communication-call-automation';
import type { TokenCredential } from '@azure/identity';
import { text } from 'node:stream/consumers';

import { expect, it, onTestFinished, vi } from 'vitest';

import { freePort } from '../../../../infra/emulators/free-port.ts';
import { withTokenDeadline } from '../../../../src/azure/credential.ts';
import { AcsProvider, connectToAcs } from '../../../../src/calls/providers/acs/acs-provider.ts';
import { LoopbackServer } from '../../../harness/loopback-server.ts';
import { attempt, ATTEMPT, CALL, callIdOf, DONE, inTime, number, outcomeOf, withoutPauses } from '../stage.ts';

const callId = callIdOf('a-call');

/** An answer: a status, and ACS's code, or a wait in seconds. None: no answer. */
type Answer = readonly [status: number, code?: string, retryAfter?: string] | undefined;

/** A provider whose requests get these answers, one after the other, without pauses; and the requests. */
const providerWith = async (...answers: readonly Answer[]) => {
  const pauses = withoutPauses();
  const sent: { readonly asked: string; readonly id: unknown; readonly body: string }[] = [];
  const server = await LoopbackServer.start((incoming, response) => {
    void text(incoming).then((body) => {
      const answer = answers[sent.length];
      const path = (incoming.url ?? '').replace(/\?.*/, '').replace('/calling/callConnections', '');
      sent.push({ asked: `${incoming.method} ${path}`, id: incoming.headers['repeatability-request-id'], body });
      if (answer === undefined) return;
      const [status, code, retryAfter] = answer;
      const wait = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      response.writeHead(status, { 'content-type': 'application/json', ...wait });
      if (status === 201) response.end(JSON.stringify({ callConnectionId: code }));
      else response.end(code === undefined ? '' : JSON.stringify({ error: { code, message: 'to +12065550100' } }));
    });
  });
  onTestFinished(() => server.stop());
  return { ...providerTo(server.port), sent, pauses };
};

/** A provider, and a request of each kind. */
const providerTo = (port: number) => {
  const connectionString = `endpoint=http://127.0.0.1:${port}/;accesskey=dGVzdA==`;
  return requestsTo(connectToAcs({ connectionString }, { getToken: () => Promise.resolve(null) }));
};

const requestsTo = (client: CallAutomationClient) => {
  const caller = { teamsResourceAccountId: 'an-account' };
  const options = { caller, cognitiveServicesEndpoint: '', callbackBaseUrl: 'https://watch.example' };
  const provider = new AcsProvider(() => client, options);
  const requests = {
    call: () => provider.call(CALL),
    speak: () => provider.media.speak(callId, 'a text'),
    listen: () => provider.media.listen(callId, number, attempt),
    hangUp: () => provider.hangUp(callId),
    check: () => provider.check(),
  };
  return { provider, requests };
};

it('sends a call request again with the same id, until it is answered', async () => {
  const { provider, sent } = await providerWith([500], [201, 'the-call']);
  expect(await provider.call({ ...CALL, callbackBaseUrl: 'https://test.example' })).toBe('the-call');
  expect(sent.map(({ id }) => id)).toEqual([attempt.attemptId, attempt.attemptId]);
  expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject({
    callbackUri: 'https://test.example/api/ConfirmedFireCallback',
    operationContext: ATTEMPT,
    teamsAppSource: { appId: 'an-account' },
  });
});

it.each([
  [0, ATTEMPT, undefined],
  [1, `${ATTEMPT}/1`, true],
  [9, `${ATTEMPT}/9`, true],
] as const)('prompt %i has the context %s; all but the message interrupt: %s', async (prompt, context, interrupts) => {
  const { provider, sent } = await providerWith([202]);
  await provider.media.speak(callId, 'a text', { ...attempt, prompt });
  expect(JSON.parse(sent[0]?.body ?? '')).toEqual({
    playSources: [{ kind: 'text', text: { text: 'a text', sourceLocale: 'en-US', voiceKind: 'female' } }],
    playTo: [],
    playOptions: { loop: false },
    operationContext: context,
    ...(interrupts === undefined ? {} : { interruptCallMediaOperation: interrupts }),
  });
});

it('waits for 4.5 s for a call, 10 s for speech, 4 s for a hang-up and 5 s for a check, each time', async () => {
  const timeouts = vi.spyOn(AbortSignal, 'timeout');
  const { provider } = await providerWith([201, 'the-call'], [202], [204], [404]);
  await provider.call(CALL);
  await provider.media.speak(callId, 'a text');
  await provider.hangUp(callId);
  await provider.check();
  expect(timeouts.mock.calls.map(([ms]) => ms)).toEqual([4_500, 10_000, 4_000, 5_000]);
});

it('gives up a request to listen that is not answered for 5 s', async () => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const timeouts = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 100));
  const { provider } = await providerWith(undefined);
  expect(await outcomeOf(provider.media.listen(callId, number, attempt))).toMatchObject({ failure: 'unanswered' });
  expect(timeouts.mock.calls).toEqual([[5_000]]);
});

it('speaks again half a second after it was too early', async () => {
  const { provider, pauses } = await providerWith([400, '8585'], [202]);
  await provider.media.speak(callId, 'a text');
  expect(pauses).toEqual([500]);
});

const ASKED = {
  call: /^POST $/,
  speak: /^POST \/a-call:play$/,
  listen: /^POST \/a-call:startContinuousDtmfRecognition$/,
  hangUp: /^POST \/a-call:terminate$/,
  check: /^GET \/[0-9a-f-]{36}$/,
};
const AT_ONCE = [429, 'TooManyRequests', '0'] as const;
const TOO_EARLY = [400, '8585'] as const;
const UNANSWERED = { failure: 'unanswered' };
const GONE = { failure: 'gone', subCode: 8_528 };
const WAS_OVER = { answer: 'gone' };
const HUNG_UP = { answer: 'hung up' };
const NO_ROLE = {
  failure: 'no_speech',
  reason: 'speech rejected',
  operatorHint: expect.stringContaining('Cognitive Services User'),
};

it.each<[keyof typeof ASKED, readonly Answer[], object]>([
  // The queue decides when to ask again.
  ['call', [[429, 'TooManyRequests', '7']], { failure: 'capacity', waitMs: 7_000 }],
  ['call', [[429]], { failure: 'capacity', waitMs: undefined, reason: 'throttled' }],
  ['call', [[503, 'Busy', '1']], { failure: 'capacity', waitMs: 1_000 }],
  ['call', [[403, '8516']], { failure: 'capacity' }],
  ['call', [[503], [408], [500]], { failure: 'unanswered', code: 500, reason: 'answered 500' }],
  // There may be a call of this very request.
  ['call', [[409]], UNANSWERED],
  // An earlier try may have placed the call.
  ['call', [[500], [403, '7504']], UNANSWERED],
  ['call', [[201, '..']], { failure: 'unanswered', reason: 'unexpected answer' }],
  ['call', [[404]], { failure: 'set_up', reason: 'there is no such phone service' }],
  ['call', [[404, '511404']], { failure: 'set_up', subCode: 511_404 }],
  ['call', [[401]], { failure: 'set_up', reason: 'the phone service does not accept this app' }],
  ['call', [[400, '8567']], { failure: 'set_up' }],
  ['call', [[400, '8529']], { failure: 'set_up', reason: "the month's limit of calls is reached" }],
  ['call', [[403]], { failure: 'forbidden', reason: 'forbidden by the callee, or our number may not call' }],
  ['call', [[403, '8599']], { failure: 'forbidden', subCode: 8_599 }],
  ['call', [[400, '560484']], { failure: 'refused' }],
  ['call', [[400, 'BadRequest']], { failure: 'rejected', code: 400, reason: 'rejected (400)' }],
  // Not in the right state: half a second later it is.
  ['speak', [[400, '8500'], [202]], DONE],
  ['speak', [[400, '8528']], GONE],
  ['speak', [[404, '8522']], { failure: 'gone', reason: 'call not found' }],
  ['speak', [TOO_EARLY, [400, '8528']], GONE],
  ['speak', [AT_ONCE, [400, '8565']], NO_ROLE],
  // The callee may hear it already: never twice.
  ['speak', [[500]], { failure: 'unanswered', reason: 'answered 500' }],
  ['listen', [AT_ONCE, [200]], DONE],
  ['listen', [[500]], UNANSWERED],
  ['hangUp', [[404, '8522']], WAS_OVER],
  ['hangUp', [[400, '8501']], WAS_OVER],
  ['hangUp', [[400, '8528']], WAS_OVER],
  ['hangUp', [[400, '8585']], WAS_OVER],
  ['hangUp', [[410]], WAS_OVER],
  ['hangUp', [AT_ONCE, [404, '8522']], WAS_OVER],
  // The first request may have ended the call.
  ['hangUp', [[500], [404, '8522']], WAS_OVER],
  ['hangUp', [[500], [500], [500], [204]], HUNG_UP],
  ['hangUp', [[500], [500], [500], [500]], UNANSWERED],
  ['hangUp', [[400]], { failure: 'rejected' }],
  // There is no such call: ACS knows us.
  ['check', [[404, '8522']], DONE],
  ['check', [[401]], { failure: 'set_up' }],
  ['check', [[403]], { failure: 'set_up' }],
  ['check', [[500], [500]], UNANSWERED],
])('a request to %s that is answered %j: %j', async (what, answers, expected) => {
  const { requests, sent } = await providerWith(...answers);
  const outcome = await outcomeOf(requests[what]());
  expect(outcome).toMatchObject(expected);
  // Nothing of ACS's message: it may have a phone number.
  expect(JSON.stringify(outcome)).not.toContain('+1206');
  expect(sent).toHaveLength(answers.length);
  expect(sent[0]?.asked).toMatch(ASKED[what]);
});

it.each([
  ['call', 2],
  ['speak', 2],
  ['listen', 1],
  ['hangUp', 3],
  ['check', 1],
] as const)('a request to %s is sent again %i times if ACS cannot be reached', async (what, repeats) => {
  const pauses = withoutPauses();
  const { requests } = providerTo(await freePort());
  expect(await outcomeOf(requests[what]())).toMatchObject({ failure: 'unreachable' });
  expect(pauses).toHaveLength(repeats);
});

const hangs = async () => new Promise<never>(() => undefined);

it.each(['call', 'speak', 'listen', 'hangUp', 'check'] as const)(
  'a request to %s ends within 15 s although its token never comes, and the next request asks for a new token',
  async (what) => {
    await inTime(async (time) => {
      const getToken = vi.fn<TokenCredential['getToken']>(hangs);
      const client = connectToAcs({ endpoint: 'https://acs.invalid' }, withTokenDeadline({ getToken }));
      const { requests } = requestsTo(client);
      for (const tokens of [1, 2]) {
        const begun = time.now;
        const failed = outcomeOf(requests[what]());
        expect(await time.passUntil(failed, 15_000)).toBe(true);
        expect(await failed).toMatchObject({ failure: 'unreachable', reason: 'no token for the phone service' });
        expect(time.now - begun).toBeLessThanOrEqual(15_000);
        expect(getToken.mock.calls.length).toBeGreaterThanOrEqual(tokens);
      }
    });
  },
);

it.each(['call', 'speak', 'listen', 'hangUp', 'check'] as const)(
  'a request to %s ends within 15 s, even if the credential ignores all deadlines',
  async (what) => {
    await inTime(async (time) => {
      const { requests } = requestsTo(connectToAcs({ endpoint: 'https://acs.invalid' }, { getToken: hangs }));
      const failed = outcomeOf(requests[what]());
      expect(await time.passUntil(failed, 15_000)).toBe(true);
      expect(await failed).toMatchObject({ failure: 'unanswered' });
    });
  },
);
