import { CallAutomationClient } from '@azure/communication-call-automation';
import { AzureKeyCredential, EventGridPublisherClient } from '@azure/eventgrid';
import twilioPackage from 'twilio';
import { expect, it, onTestFinished } from 'vitest';

import { startAcsSimulator } from '../../infra/emulators/acs-simulator/simulator.ts';
import { startTwilioSimulator } from '../../infra/emulators/twilio-simulator/simulator.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';
import { until } from '../harness/until.ts';

const TO = '+12065550100';

/** Both simulators, and the clients of their providers. */
const stage = async () => {
  const [acs, twilio] = await Promise.all([startAcsSimulator(), startTwilioSimulator()]);
  onTestFinished(async () => void (await Promise.all([acs.stop(), twilio.stop()])));
  const options = { allowInsecureConnection: true, retryOptions: { retryDelayInMs: 1 } };
  const acsClient = new CallAutomationClient(acs.connectionString, options);
  const { accountSid, apiKeySid, apiKeySecret, number: from } = twilio;
  const twilioClient = twilioPackage(apiKeySid, apiKeySecret, { accountSid });
  twilioClient.api.baseUrl = twilio.url;
  const callByAcs = async (to = TO, callback = 'http://127.0.0.1:9/') => {
    const callers = { targetParticipant: { phoneNumber: to }, sourceCallIdNumber: { phoneNumber: from } };
    return acsClient.createCall(callers, callback);
  };
  return { acs, acsClient, callByAcs, twilio, twilioClient, from };
};

it('ACS places one call if its answer is lost, and posts a callback three times if it is refused', async () => {
  const { acs, callByAcs } = await stage();
  let posts = 0;
  const service = await LoopbackServer.start((request, response) => {
    posts += 1;
    request.resume();
    response.writeHead(503).end();
  });
  onTestFinished(() => service.stop());
  const { callConnectionProperties } = await callByAcs('+12065550134', `http://127.0.0.1:${service.port}/`);
  await until(() => posts === 6, 'CallConnected and ParticipantsUpdated are given up');
  await acs.settled();
  const log: unknown = await (await fetch(`${acs.url}/log`)).json();
  const steps = [{ text: 'createCall', answer: 'answer lost' }, { text: 'CallConnected', answer: '503' }, {}];
  const id = callConnectionProperties.callConnectionId;
  expect(log).toMatchObject({ calls: [{ id, state: 'connected', steps }], refused: [], published: [] });
});

it("Twilio's client places and finds calls", async () => {
  const { twilio, twilioClient, from } = await stage();
  const { sid, status } = await twilioClient.calls.create({ to: TO, from, twiml: '<Response/>' });
  expect([sid, status]).toEqual([expect.stringMatching(/^CA[0-9a-f]{32}$/), 'queued']);
  await until(() => twilio.log().calls[0]?.state === 'ended', 'the call ends');
  const found = await twilioClient.calls(sid).fetch();
  expect(found).toMatchObject({ sid, status: 'completed', to: TO, direction: 'outbound-api', duration: '0' });
  expect(Math.abs(Number(found.dateCreated) - Date.now())).toBeLessThan(60_000);
  expect((await fetch(`${twilio.url}/2010-04-01/Accounts/${twilio.accountSid}/Calls/${sid}.json`)).status).toBe(401);
});

it.each([
  ['401', 401, 20_003, { code: 20_003 }],
  ['403', 403, 20_403, { code: 20_403 }],
  ['number', 403, 21_210, []],
])('after POST /set-up/%s both refuse everything until POST /set-up/right', async (fault, status, code, checked) => {
  const { acs, acsClient, callByAcs, twilio, twilioClient, from } = await stage();
  const setUp = async (path: string) =>
    Promise.all([acs, twilio].map(({ url }) => fetch(`${url}/set-up/${path}`, { method: 'POST' })));
  const id = '0d1c2b3a-0000-4000-8000-00000000000a';
  const callByTwilio = async () => twilioClient.calls.create({ to: TO, from, twiml: '<Response/>' });
  const checks = async () =>
    Promise.all([
      acsClient
        .getCallConnection(id)
        .getCallConnectionProperties()
        .catch((error: unknown) => error),
      twilioClient.incomingPhoneNumbers.list({ phoneNumber: from }).catch((error: unknown) => error),
    ]);
  await setUp(fault);
  await expect(callByAcs()).rejects.toMatchObject({ statusCode: status });
  await expect(callByTwilio()).rejects.toMatchObject({ code });
  expect(await checks()).toMatchObject([{ statusCode: status }, checked]);
  await setUp('right');
  await Promise.all([callByAcs(), callByTwilio()]);
  expect(await checks()).toMatchObject([{ code: '8522' }, [{ phoneNumber: from, capabilities: { voice: true } }]]);
  expect([acs.log().refused, twilio.log().refused]).toEqual([[], []]);
});

it("the topic takes the events that Microsoft's client publishes with its key, and refuses others", async () => {
  const { acs } = await stage();
  const { endpoint, key } = acs.topic;
  const publisher = (sasKey: string) =>
    new EventGridPublisherClient(endpoint, 'CloudEvent', new AzureKeyCredential(sasKey), {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    });
  const event = { id: '1', source: '/notifications', type: 'Notification.Completed', data: { a: 1 } };
  await publisher(key).send([event, { ...event, id: '2' }]);
  await expect(publisher('another key').send([event])).rejects.toMatchObject({ statusCode: 401 });
  const body = JSON.stringify([{ ...event, specversion: '0.3' }]);
  const headers = { 'aeg-sas-key': key, 'content-type': 'application/cloudevents-batch+json' };
  await fetch(`${endpoint}?api-version=2018-01-01`, { method: 'POST', headers, body });
  const { published, refused } = acs.log();
  expect([published, refused]).toMatchObject([
    [event, { ...event, id: '2' }],
    [{ status: 401 }, { status: 400 }],
  ]);
});
