import { randomUUID } from 'node:crypto';

import { CallAutomationClient, VoiceKind } from '@azure/communication-call-automation';
import { AzureKeyCredential, EventGridPublisherClient } from '@azure/eventgrid';
import { expect, it, onTestFinished } from 'vitest';

import type { AcsSimulator } from '../../infra/emulators/acs-simulator/simulator.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';
import { until } from '../harness/until.ts';
import { ask, callIdOf, createCall, errorSchema, play, repeatable, startAcs } from './acs-requests.ts';

it("is driven by Microsoft's client: a call that speaks, listens and hangs up", async () => {
  const acs = await startAcs({ pace: { speakMs: 300 } });
  const client = new CallAutomationClient(acs.connectionString, { allowInsecureConnection: true });
  const invite = {
    targetParticipant: { phoneNumber: '+12065550170' },
    sourceCallIdNumber: { phoneNumber: '+12065550199' },
  };
  const { callConnection } = await client.createCall(invite, 'http://127.0.0.1:9/api/CustomCallback');
  await until(() => acs.log().calls[0]?.state === 'connected', 'the callee answers');
  const media = callConnection.getCallMedia();
  await media.startContinuousDtmfRecognition(invite.targetParticipant);
  await media.playToAll([{ kind: 'textSource', text: 'Fire', sourceLocale: 'en-US', voiceKind: VoiceKind.Female }]);
  await until(() => acs.log().calls[0]?.speeches[0]?.isComplete === true, 'the callee has heard it');
  expect((await callConnection.getCallConnectionProperties()).callConnectionState).toBe('connected');
  await callConnection.hangUp(true);
  await acs.settled();
  const [call] = acs.log().calls;
  expect(call).toMatchObject({ endedBy: 'app', spoken: ['Fire'], from: '+12065550199' });
  // It is posted a moment after CallConnected: before or after the next request.
  const steps = call?.story.map(({ text }) => text).filter((text) => text !== 'ParticipantsUpdated');
  expect(steps?.join(' ')).toBe(
    'createCall CallConnected listen play Fire PlayStarted ContinuousDtmfRecognitionToneReceived PlayCompleted hangUp CallDisconnected',
  );
  expect(acs.log().refused).toEqual([]);
});

it('takes a right request, and a repeat with its repeatability id as one', async () => {
  const acs = await startAcs();
  const headers = repeatable();
  const first = await ask(acs, '', createCall(), headers);
  expect(first.status).toBe(201);
  expect((await ask(acs, '', createCall(), headers)).body).toEqual(first.body);
  expect((await ask(acs, '', createCall('+12065550101'), headers)).status).toBe(400);
  expect(acs.log().calls).toHaveLength(1);
});

const UNSIGNED = `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${'A'.repeat(43)}=`;
const TEAMS = { teamsAppSource: { appId: '0d1c2b3a-0000-4000-8000-00000000000a' } };
const NO_NUMBER = { sourceCallerIdNumber: undefined };
const placed = (change: object) => (acs: AcsSimulator) => ask(acs, '', { ...createCall(), ...change }, repeatable());

it.each<[string, number, (acs: AcsSimulator) => ReturnType<typeof ask>]>([
  ['a wrong signature', 401, (acs) => ask(acs, '', createCall(), { ...repeatable(), authorization: UNSIGNED })],
  ['no signature', 401, (acs) => ask(acs, '', createCall(), { ...repeatable(), authorization: '' })],
  ['another body than the signed one', 401, (acs) => ask(acs, '', createCall(), { 'x-ms-content-sha256': 'x' })],
  ['an old date', 401, (acs) => ask(acs, '', createCall(), { 'x-ms-date': 'Sat, 01 Nov 2025 08:00:00 GMT' })],
  ['another wire protocol', 400, (acs) => ask(acs, '', createCall(), repeatable(), { version: '2023-01-01' })],
  ['a call without a repeatability id', 400, (acs) => ask(acs, '', createCall())],
  ['a call to no E.164 number', 400, (acs) => ask(acs, '', createCall('12065550100'), repeatable())],
  ['a callback that is not https', 400, placed({ callbackUri: 'http://example.com/' })],
  ['two callers', 400, placed(TEAMS)],
  ['a call without a caller', 400, placed(NO_NUMBER)],
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
  const callId = callIdOf((await placed({ ...NO_NUMBER, ...TEAMS })(acs)).body);
  await until(() => acs.log().calls[0]?.state === 'connected', 'the callee answers');
  expect((await ask(acs, `/${callId}:play`, play('x'.repeat(4_001)))).status).toBe(400);
  expect((await ask(acs, `/${callId}:play`, play('x'.repeat(4_000)))).status).toBe(202);
  expect((await ask(acs, `/${callId}:terminate`, undefined, repeatable())).status).toBe(204);
  expect(acs.log()).toMatchObject({ refused: [{}], calls: [{ from: TEAMS.teamsAppSource.appId }] });
  const late = await ask(acs, `/${callId}:play`, play('x'));
  expect([late.status, errorSchema.parse(late.body)]).toEqual([404, '8522']);
  expect(acs.log().refused).toHaveLength(2);
});

it('does not count a mistake if the app could not know that the callee has hung up', async () => {
  const acs = await startAcs();
  const callId = callIdOf((await ask(acs, '', createCall('+12065550119'), repeatable())).body);
  await until(() => acs.log().calls[0]?.state === 'ended', 'the callee hangs up');
  expect((await ask(acs, `/${callId}:play`, play('x'))).status).toBe(404);
  expect(acs.log()).toMatchObject({ calls: [{ endedBy: 'callee', speeches: [] }], refused: [] });
});

it.each([
  ['refuses', 429, 2],
  ['declines', 201, 3],
] as const)('while both lines are busy it %s one more call', async (whenFull, status, calls) => {
  const acs = await startAcs({ lines: 2, whenFull, pace: { ringMs: 60_000 } });
  const called = (number: string) => ask(acs, '', createCall(number), repeatable());
  const first = await called('+12065550100');
  await called('+12065551100');
  expect((await called('+12065552100')).status).toBe(status);
  if (calls > 2) await until(() => acs.log().calls[2]?.endedBy === 'network', 'the network declines it');
  await ask(acs, `/${callIdOf(first.body)}:terminate`, undefined, repeatable());
  expect((await called('+12065553100')).status).toBe(201);
  const ringing = acs.log().calls.flatMap(({ to, state }) => (state === 'ringing' ? to : []));
  expect([ringing, acs.log().refused]).toEqual([['+12065551100', '+12065553100'], []]);
  expect(acs.log().calls).toHaveLength(calls + 1);
});

it.each([
  ['401', 401],
  ['403', 403],
  ['number', 403],
])('POST /set-up/%s has it refuse everything with %i until POST /set-up/right', async (fault, status) => {
  const acs = await startAcs();
  const check = () => ask(acs, `/${randomUUID()}`, undefined, {}, { method: 'GET' });
  const setUp = async (path: string) => (await fetch(`${acs.url}/set-up/${path}`, { method: 'POST' })).status;
  const unknown = await check();
  expect([unknown.status, errorSchema.parse(unknown.body)]).toEqual([404, '8522']);
  expect(await setUp(fault)).toBe(204);
  expect([(await check()).status, (await ask(acs, '', createCall(), repeatable())).status]).toEqual([status, status]);
  expect(await setUp('right')).toBe(204);
  expect((await ask(acs, '', createCall(), repeatable())).status).toBe(201);
  expect(acs.log().refused).toEqual([]);
});

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

it("its topic takes the events that Microsoft's client publishes with its key, and refuses others", async () => {
  const acs = await startAcs();
  const { endpoint, key } = acs.topic;
  const publish = (events: { id: string; source: string; type: string; data: object }[], sasKey: string) =>
    new EventGridPublisherClient(endpoint, 'CloudEvent', new AzureKeyCredential(sasKey), {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    }).send(events);
  const event = { id: '1', source: '/notifications', type: 'Notification.Completed', data: { a: 1 } };
  await publish([event, { ...event, id: '2' }], key);
  await expect(publish([event], 'another key')).rejects.toMatchObject({ statusCode: 401 });
  const body = JSON.stringify([{ ...event, specversion: '0.3' }]);
  const headers = { 'aeg-sas-key': key, 'content-type': 'application/cloudevents-batch+json' };
  const wrong = await fetch(`${endpoint}?api-version=2018-01-01`, { method: 'POST', headers, body });
  expect(wrong.status).toBe(400);
  const log: unknown = await (await fetch(`${acs.url}/log`)).json();
  expect(log).toMatchObject({ published: [event, { ...event, id: '2' }], refused: [{ status: 401 }, { status: 400 }] });
});
