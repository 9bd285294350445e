import { text as textOf } from 'node:stream/consumers';

import twilioPackage from 'twilio';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import type { SimulatorOptions } from '../../infra/emulators/phone-network/simulator.ts';
import { startTwilioSimulator } from '../../infra/emulators/twilio-simulator/simulator.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';
import { until } from '../harness/until.ts';

const { VoiceResponse } = twilioPackage.twiml;

const message = (after = '/after?what=speech&more=1'): string => {
  const response = new VoiceResponse();
  response.say({ voice: 'Polly.Joanna', language: 'en-US', loop: 3 }, 'Smoke & <fire>. ');
  response.redirect(after);
  return response.toString();
};
const gather = (): string => {
  const response = new VoiceResponse();
  response
    .gather({ input: ['dtmf'], numDigits: 1, finishOnKey: '', timeout: 5, action: '/key' })
    .say({ voice: 'Polly.Joanna' }, 'Press a key.');
  return response.toString();
};
const HANG_UP = '<Response><Hangup/></Response>';

/** The simulator, Twilio's own client, and a service that answers requests for instructions and remembers what arrived. */
const stage = async (instruct: (path: string) => string | undefined, options: SimulatorOptions = {}) => {
  const simulator = await startTwilioSimulator(options);
  onTestFinished(() => simulator.stop());
  const posts: { path: string; form: Readonly<Record<string, string>>; isSigned: boolean }[] = [];
  const service = await LoopbackServer.start((request, response) => {
    const { url: path = '', headers } = request;
    void textOf(request).then((body) => {
      const form = Object.fromEntries(new URLSearchParams(body));
      const signature = String(headers['x-twilio-signature'] ?? '');
      const isSigned = twilioPackage.validateRequest(simulator.authToken, signature, `${base}${path}`, form);
      posts.push({ path, form, isSigned });
      const twiml = form['CallbackSource'] === undefined ? instruct(path) : '';
      response.writeHead(twiml === undefined ? 500 : 200, { 'content-type': 'text/xml' }).end(twiml);
    });
  });
  onTestFinished(() => service.stop());
  const base = `http://127.0.0.1:${service.port}`;
  const client = twilioPackage(simulator.apiKeySid, simulator.apiKeySecret, { accountSid: simulator.accountSid });
  client.api.baseUrl = simulator.url;
  const from = simulator.number;
  const call = (to: string) =>
    client.calls.create({
      to,
      from,
      url: `${base}/voice?attempt=a/1/b`,
      statusCallback: `${base}/status`,
      statusCallbackEvent: ['initiated', 'answered', 'completed'],
      timeout: 60,
      timeLimit: 300,
    });
  const ended = async (sid: string) => {
    const find = () => simulator.log().calls.find(({ id }) => id === sid);
    await until(() => find()?.state === 'ended', 'the call ends');
    await simulator.settled();
    return find();
  };
  return { simulator, client, call, ended, base, posts, from };
};

const code = (error: unknown) => z.object({ code: z.number() }).safeParse(error).data?.code;
const fails = async (doing: Promise<unknown>) => doing.then(() => undefined, code);

it("is driven by Twilio's client: a call, its instructions carried out, its callbacks signed", async () => {
  const { simulator, call, client, posts, ended } = await stage((path) =>
    path.startsWith('/after') ? HANG_UP : message(),
  );
  const { sid, status } = await call('+12065550100');
  expect([sid, status]).toEqual([expect.stringMatching(/^CA[0-9a-f]{32}$/), 'queued']);
  expect(await ended(sid)).toMatchObject({
    endedBy: 'app',
    spoken: ['Smoke & <fire>. '.repeat(3)],
    speeches: [{ isComplete: true }],
  });
  const statuses = posts.filter(({ form }) => form['CallbackSource'] !== undefined);
  expect(statuses.map(({ form }) => form['CallStatus'])).toEqual(['initiated', 'in-progress', 'completed']);
  expect(statuses.at(-1)?.form).toMatchObject({
    CallSid: sid,
    CallDuration: expect.stringMatching(/^\d+$/),
    SipResponseCode: '200',
    SequenceNumber: '2',
  });
  expect(posts.filter(({ isSigned }) => !isSigned)).toEqual([]);
  expect(posts.find(({ path }) => path === '/voice?attempt=a/1/b')?.form).toMatchObject({ To: '+12065550100' });
  const found = await client.calls(sid).fetch();
  expect(found).toMatchObject({ sid, status: 'completed', to: '+12065550100', direction: 'outbound-api' });
  expect(Math.abs(Number(found.dateCreated) - Date.now())).toBeLessThan(60_000);
  expect((await client.calls.list({ to: '+12065550100' })).map((listed) => listed.sid)).toEqual([sid]);
  expect(simulator.log().refused).toEqual([]);
});

it('speaks the instructions of the call request before it asks the service, and asks for others at their end', async () => {
  const { client, posts, base, ended, from } = await stage(() => HANG_UP);
  const twiml = message(`${base}/after`);
  const { sid } = await client.calls.create({ to: '+12065550100', from, twiml });
  expect(await ended(sid)).toMatchObject({ spoken: ['Smoke & <fire>. '.repeat(3)], endedBy: 'app' });
  expect(posts.map(({ path }) => path)).toEqual(['/after']);
  const tooLong = client.calls.create({ to: '+12065550100', from, twiml: twiml.padEnd(4_001) });
  await expect(tooLong).rejects.toSatisfy((error) => code(error) === 20_001);
});

it('a key stops the speech, and is posted', async () => {
  const { call, ended, posts } = await stage((path) => (path.startsWith('/voice') ? gather() : HANG_UP));
  const { sid } = await call('+12065550170');
  expect(await ended(sid)).toMatchObject({ spoken: ['Press a key.'], speeches: [{ isComplete: false }] });
  expect(posts.find(({ path }) => path === '/key')?.form['Digits']).toBe('1');
});

it('queues calls beyond the pace of the account, cancels a queued call, and refuses what Twilio refuses', async () => {
  const { simulator, client, call, from } = await stage(() => message(), { callsPerSecond: 0.01, lines: 3 });
  const [, { sid: queued }] = await Promise.all([call('+12065550200'), call('+12065550300')]);
  expect((await client.calls(queued).fetch()).status).toBe('queued');
  expect((await client.calls(queued).update({ status: 'canceled' })).status).toBe('canceled');
  expect(await fails(client.calls(queued).update({ status: 'completed' }))).toBe(21_220);
  await Promise.all([call('+12065550400'), call('+12065550500')]);
  expect(await fails(call('+12065550600'))).toBe(10_004);
  expect(simulator.log().refused).toEqual([]);
  expect(await fails(client.calls.create({ to: '1', from, url: 'http://x.example/' }))).toBe(21_211);
  const stranger = twilioPackage(simulator.apiKeySid, 'wrong', { accountSid: simulator.accountSid });
  stranger.api.baseUrl = simulator.url;
  expect(await fails(stranger.calls.list())).toBe(20_003);
  expect(simulator.log().refused).toHaveLength(2);
});

it('can decline one more call instead, while all lines are busy', async () => {
  const options = { lines: 1, whenFull: 'declines', pace: { ringMs: 60_000 } } as const;
  const { simulator, call, ended } = await stage(() => HANG_UP, options);
  await call('+12065550100');
  const { sid } = await call('+12065551100');
  expect((await ended(sid))?.story.at(-1)?.text).toBe('busy');
  expect(simulator.log().refused).toEqual([]);
});

it.each([
  [401, 20_003, 20_003],
  [403, 20_403, 20_403],
  ['number', 21_210, []],
] as const)('refuses calls with %s when it is told to, and its check says so', async (fault, refusal, checked) => {
  const { simulator, client, call, from } = await stage(() => HANG_UP);
  const own = async () =>
    (await client.incomingPhoneNumbers.list({ phoneNumber: from })).map(({ capabilities }) => capabilities.voice);
  expect(await own()).toEqual([true]);
  simulator.setUpFault = fault;
  await expect(call('+12065550100')).rejects.toSatisfy((error) => code(error) === refusal);
  expect(await own().catch(code)).toEqual(checked);
  simulator.setUpFault = undefined;
  expect([(await call('+12065550100')).status, simulator.log().refused]).toEqual(['queued', []]);
});

it.each([['no xml'], ['<Response><Sing/></Response>'], ['<Response><Say>Hello</Say></Response>'], [undefined]])(
  'refuses the instructions %s, and ends the call',
  async (wrong) => {
    const { simulator, call, ended } = await stage(() => wrong);
    const { sid } = await call('+12065550100');
    expect(await ended(sid)).toMatchObject({ endedBy: 'network', spoken: [] });
    expect(simulator.log().refused).toHaveLength(1);
  },
);
