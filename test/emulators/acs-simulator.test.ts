import { randomUUID } from 'node:crypto';

import { AzureKeyCredential, EventGridPublisherClient } from '@azure/eventgrid';
import { expect, it, onTestFinished } from 'vitest';

import type { AcsSimulator } from '../../infra/emulators/acs-simulator/simulator.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';
import { until } from '../harness/until.ts';
import { ask, callIdOf, createCall, errorSchema, play, repeatable, startAcs } from './acs-requests.ts';

it('takes a right request, and the same again with its repeatability id as one', async () => {
  const acs = await startAcs();
  const headers = repeatable();
  const first = await ask(acs, '', createCall(), headers);
  expect(first.status).toBe(201);
  expect((await ask(acs, '', createCall(), headers)).body).toEqual(first.body);
  expect((await ask(acs, '', createCall('+12065550101'), headers)).status).toBe(400);
  expect(acs.log().calls).toHaveLength(1);
});

const SIGNED_BY_NOBODY = `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${'A'.repeat(43)}=`;

it.each<[string, number, (acs: AcsSimulator) => ReturnType<typeof ask>]>([
  ['a wrong signature', 401, (acs) => ask(acs, '', createCall(), { ...repeatable(), authorization: SIGNED_BY_NOBODY })],
  ['no signature', 401, (acs) => ask(acs, '', createCall(), { ...repeatable(), authorization: '' })],
  ['another body than the signed one', 401, (acs) => ask(acs, '', createCall(), { 'x-ms-content-sha256': 'x' })],
  ['an old date', 401, (acs) => ask(acs, '', createCall(), { 'x-ms-date': 'Sat, 01 Nov 2025 08:00:00 GMT' })],
  ['another wire protocol', 400, (acs) => ask(acs, '', createCall(), repeatable(), { version: '2023-01-01' })],
  ['a call without a repeatability id', 400, (acs) => ask(acs, '', createCall())],
  ['a call to no E.164 number', 400, (acs) => ask(acs, '', createCall('12065550100'), repeatable())],
  [
    'a callback that is not https',
    400,
    (acs) => ask(acs, '', { ...createCall(), callbackUri: 'http://example.com/' }, repeatable()),
  ],
  ['a play to an unknown call', 404, (acs) => ask(acs, `/${randomUUID()}:play`, play('x'))],
  ['a hang-up of an unknown call', 404, (acs) => ask(acs, `/${randomUUID()}:terminate`, undefined, repeatable())],
  ['an empty call id', 404, (acs) => ask(acs, '/:terminate', undefined, repeatable())],
])('refuses %s, and remembers it', async (_, status, request) => {
  const acs = await startAcs();
  expect((await request(acs)).status).toBe(status);
  expect(acs.log().refused).toHaveLength(1);
});

it('refuses to speak before the call is connected, more than 4,000 characters, and after the end', async () => {
  const ringing = await startAcs({ pace: { ringMs: 60_000 } });
  const rung = callIdOf((await ask(ringing, '', createCall(), repeatable())).body);
  const early = await ask(ringing, `/${rung}:play`, play('x'));
  expect([early.status, errorSchema.parse(early.body)]).toEqual([400, '8501']);
  expect(ringing.log().refused).toHaveLength(1);

  const acs = await startAcs();
  const callId = callIdOf((await ask(acs, '', createCall(), repeatable())).body);
  await until(() => acs.log().calls[0]?.state === 'connected', 'somebody answers');
  expect((await ask(acs, `/${callId}:play`, play('x'.repeat(4_001)))).status).toBe(400);
  expect((await ask(acs, `/${callId}:play`, play('x'.repeat(4_000)))).status).toBe(202);
  expect((await ask(acs, `/${callId}:terminate`, undefined, repeatable())).status).toBe(204);
  expect(acs.log().refused).toHaveLength(1);
  const late = await ask(acs, `/${callId}:play`, play('x'));
  expect([late.status, errorSchema.parse(late.body)]).toEqual([404, '8522']);
  expect(acs.log().refused).toHaveLength(2);
});

it('does not take it amiss if the app could not know that the callee has hung up', async () => {
  const acs = await startAcs();
  const callId = callIdOf((await ask(acs, '', createCall('+12065550119'), repeatable())).body);
  await until(() => acs.log().calls[0]?.state === 'ended', 'the callee hangs up');
  expect((await ask(acs, `/${callId}:play`, play('x'))).status).toBe(404);
  expect(acs.log()).toMatchObject({ calls: [{ endedBy: 'callee', speeches: [] }], refused: [] });
});

it('calls from a number or from a Teams resource account, never from both or neither', async () => {
  const acs = await startAcs();
  const { sourceCallerIdNumber, ...rest } = createCall();
  const teamsAppSource = { appId: '0d1c2b3a-0000-4000-8000-00000000000a' };
  const statuses = [];
  for (const from of [
    { teamsAppSource },
    { sourceCallerIdNumber },
    { sourceCallerIdNumber, teamsAppSource },
    {},
    { teamsAppSource: { appId: 'x' } },
  ]) {
    statuses.push((await ask(acs, '', { ...rest, ...from }, repeatable())).status);
  }
  expect(statuses).toEqual([201, 201, 400, 400, 400]);
  expect(acs.log().calls.map(({ from }) => from)).toEqual([teamsAppSource.appId, '+12065550199']);
});

const busyLines = async (whenFull: 'refuses' | 'declines') => {
  const acs = await startAcs({ lines: 2, whenFull, pace: { ringMs: 60_000 } });
  const called = (number: string) => ask(acs, '', createCall(number), repeatable());
  const first = await called('+12065550100');
  expect((await called('+12065551100')).status).toBe(201);
  return { acs, called, first, third: await called('+12065552100') };
};

it('if both lines ring, one more call is answered 429, until one has ended', async () => {
  const { acs, called, first, third } = await busyLines('refuses');
  expect([third.status, third.retryAfter, errorSchema.parse(third.body)]).toEqual([429, null, 'TooManyRequests']);
  await ask(acs, `/${callIdOf(first.body)}:terminate`, undefined, repeatable());
  // It is told like one that was not answered.
  await until(() => acs.log().calls[0]?.story.at(-1)?.text === 'CallDisconnected', 'ACS tells it');
  expect(acs.log().calls[0]?.story.map(({ text }) => text)).toContain('CreateCallFailed');
  expect((await called('+12065553100')).status).toBe(201);
  expect(acs.log()).toMatchObject({ refused: [], turnedAway: [{ to: '+12065552100' }] });
  const ringing = acs.log().calls.flatMap(({ to, state }) => (state === 'ringing' ? to : []));
  expect(ringing).toEqual(['+12065551100', '+12065553100']);
});

it('or one more call is accepted, and declined at once, as other networks do', async () => {
  const { acs, third } = await busyLines('declines');
  expect(third.status).toBe(201);
  await until(() => acs.log().calls[2]?.state === 'ended', 'the network declines it');
  expect(acs.log()).toMatchObject({ calls: [{}, {}, { endedBy: 'network' }], turnedAway: [{ to: '+12065552100' }] });
});

it.each([401, 403] as const)(
  'refuses everything with %i when it is told to, and nobody is to blame',
  async (status) => {
    const acs = await startAcs();
    const check = () => ask(acs, `/${randomUUID()}`, undefined, {}, { method: 'GET' });
    const unknown = await check();
    expect([unknown.status, errorSchema.parse(unknown.body)]).toEqual([404, '8522']);
    acs.setUpFault = status;
    expect([(await check()).status, (await ask(acs, '', createCall(), repeatable())).status]).toEqual([status, status]);
    expect((await fetch(`${acs.url}/set-up/right`, { method: 'POST' })).status).toBe(204);
    expect((await ask(acs, '', createCall(), repeatable())).status).toBe(201);
    expect(acs.log().refused).toEqual([]);
  },
);

it('posts a callback that is not accepted three times', async () => {
  let posts = 0;
  const app = await LoopbackServer.start((request, response) => {
    posts += 1;
    request.resume();
    response.writeHead(503).end();
  });
  onTestFinished(() => app.stop());
  const acs = await startAcs();
  const callbackUri = `http://127.0.0.1:${app.port}/api/CustomCallback`;
  await ask(acs, '', { ...createCall('+12065550148'), callbackUri }, repeatable());
  await until(() => acs.log().calls[0]?.story.at(-1)?.answer === '503', 'ACS gives up');
  expect(posts).toBe(3);
});

it("its topic takes what Microsoft's client publishes with its key, and nothing else", async () => {
  const acs = await startAcs();
  const { endpoint, key } = acs.topic;
  const publish = (events: { id: string; source: string; type: string; data: object }[], sasKey: string) =>
    new EventGridPublisherClient(endpoint, 'CloudEvent', new AzureKeyCredential(sasKey), {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    }).send(events);
  const event = { id: '1', source: '/notifications', type: 'Notification.Completed', data: { a: 1 } };
  await publish([event, { ...event, id: '2' }], key);
  expect(acs.log().published).toMatchObject([event, { ...event, id: '2' }]);

  await expect(publish([event], 'another key')).rejects.toMatchObject({ statusCode: 401 });
  const body = JSON.stringify([{ ...event, specversion: '0.3' }]);
  const headers = { 'aeg-sas-key': key, 'content-type': 'application/cloudevents-batch+json' };
  const wrong = await fetch(`${endpoint}?api-version=2018-01-01`, { method: 'POST', headers, body });
  expect(wrong.status).toBe(400);
  expect(acs.log().published).toHaveLength(2);
  expect(acs.log().refused.map(({ status }) => status)).toEqual([401, 400]);
});
