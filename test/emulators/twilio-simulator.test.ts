import { createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

import twilioPackage from 'twilio';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { listenOn } from '../../infra/emulators/free-port.ts';
import {
  startTwilioSimulator,
  type TwilioSimulator,
  type TwilioSimulatorOptions,
} from '../../infra/emulators/twilio-simulator/simulator.ts';
import { until } from '../harness/until.ts';
import { answerFaults, requestFaults } from './twilio-api-description.ts';

const { VoiceResponse } = twilioPackage.twiml;

interface Post {
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
  readonly isSigned: boolean;
}

/** A service that answers every request for instructions as it is told, and remembers what was posted. */
const startService = async (authToken: string, instruct: (post: Post) => string | undefined) => {
  const posts: Post[] = [];
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      const url = `${base}${request.url ?? ''}`;
      const form = Object.fromEntries(new URLSearchParams(body));
      const signature = String(request.headers['x-twilio-signature'] ?? '');
      const post = { url, form, isSigned: twilioPackage.validateRequest(authToken, signature, url, form) };
      posts.push(post);
      const twiml = form['CallbackSource'] === undefined ? instruct(post) : '';
      response.writeHead(twiml === undefined ? 500 : 200, { 'content-type': 'text/xml' });
      response.end(twiml);
    });
  });
  const base = `http://127.0.0.1:${await listenOn(server, 0)}`;
  onTestFinished(async () => {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  });
  return { base, posts };
};

const message = (text: string): string => {
  const response = new VoiceResponse();
  response.say({ voice: 'Polly.Joanna', language: 'en-US', loop: 3 }, text);
  response.redirect('/after?what=speech&more=1');
  return response.toString();
};

const gather = (): string => {
  const response = new VoiceResponse();
  response
    .gather({ input: ['dtmf'], numDigits: 1, finishOnKey: '', timeout: 5, action: '/key' })
    .say({ voice: 'Polly.Joanna' }, 'Press a key.');
  response.redirect('/after');
  return response.toString();
};

const code = (error: unknown) => z.object({ code: z.number() }).safeParse(error).data?.code;

const hangup = (): string => {
  const response = new VoiceResponse();
  response.hangup();
  return response.toString();
};

const stage = async (instruct: (post: Post) => string | undefined, options: TwilioSimulatorOptions = {}) => {
  const simulator = await startTwilioSimulator(options);
  onTestFinished(() => simulator.stop());
  const service = await startService(simulator.authToken, instruct);
  const client = twilioPackage(simulator.apiKeySid, simulator.apiKeySecret, { accountSid: simulator.accountSid });
  client.api.baseUrl = simulator.url;
  const call = (to: string) =>
    client.calls.create({
      to,
      from: simulator.number,
      url: `${service.base}/voice?attempt=a/1/b`,
      statusCallback: `${service.base}/status`,
      statusCallbackEvent: ['initiated', 'answered', 'completed'],
      timeout: 60,
      timeLimit: 300,
    });
  return { simulator, client, call, ...service };
};

const ends = async (simulator: TwilioSimulator, sid: string) => {
  await until(() => simulator.find(sid)?.isOver === true, 'the call ends');
  await simulator.settled();
  return simulator.log().calls.find(({ id }) => id === sid);
};

it('is driven by the client of Twilio: a call, its instructions carried out, its callbacks signed', async () => {
  const { simulator, call, client, posts, base } = await stage((post) =>
    post.url.includes('/after') ? hangup() : message('Smoke & <fire>. '),
  );
  const { sid, status } = await call('+12065550100');
  expect([sid, status]).toEqual([expect.stringMatching(/^CA[0-9a-f]{32}$/), 'queued']);
  const told = await ends(simulator, sid);
  expect(told).toMatchObject({
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
  expect(posts.find(({ url }) => url === `${base}/voice?attempt=a/1/b`)?.form).toMatchObject({ To: '+12065550100' });
  expect((await client.calls(sid).fetch()).status).toBe('completed');
  expect((await client.calls.list({ to: '+12065550100' })).map((found) => found.sid)).toEqual([sid]);
  expect(simulator.log().refused).toEqual([]);
});

it.each([
  ['01', 'no-answer', '480'],
  ['02', 'busy', '486'],
  ['03', 'busy', '603'],
  ['04', 'failed', '484'],
])('a number that ends with %s: %s, SIP %s', async (digits, status, sip) => {
  const { simulator, call, posts } = await stage(() => hangup());
  const { sid } = await call(`+120655501${digits}`);
  await ends(simulator, sid);
  expect(posts.at(-1)?.form).toMatchObject({ CallStatus: status, SipResponseCode: sip });
});

it('gathers a key, which stops what is said, and listens on after the last word', async () => {
  for (const [number, isComplete] of [
    ['+12065550170', false],
    ['+12065550171', true],
  ] as const) {
    const { simulator, call, posts } = await stage(({ url }) => (url.includes('/voice') ? gather() : hangup()));
    const { sid } = await call(number);
    expect(await ends(simulator, sid)).toMatchObject({ spoken: ['Press a key.'], speeches: [{ isComplete }] });
    expect(posts.find(({ url }) => url.endsWith('/key'))?.form['Digits']).toBe('1');
    expect(posts.some(({ url }) => url.endsWith('/after'))).toBe(false);
  }
});

it('queues calls beyond the pace of the account, cancels a queued one, and refuses what Twilio refuses', async () => {
  const { simulator, client, call } = await stage(() => message('Hello. '), { callsPerSecond: 1, lines: 3 });
  const calls = await Promise.all(['+12065550200', '+12065550300'].map(call));
  const [, queued] = calls.map(({ sid }) => simulator.find(sid));
  expect(queued?.status).toBe('queued');
  expect((await client.calls(queued?.sid ?? '').update({ status: 'canceled' })).status).toBe('canceled');
  await expect(client.calls(queued?.sid ?? '').update({ status: 'completed' })).rejects.toSatisfy(
    (error) => code(error) === 21_220,
  );
  await Promise.all([call('+12065550400'), call('+12065550500')]);
  await expect(call('+12065550600')).rejects.toSatisfy((error) => code(error) === 10_004);
  expect(simulator.log().refused).toEqual([]);
  await expect(client.calls.create({ to: '1', from: simulator.number, url: 'http://x.example/' })).rejects.toSatisfy(
    (error) => code(error) === 21_211,
  );
  const stranger = twilioPackage(simulator.apiKeySid, 'wrong', { accountSid: simulator.accountSid });
  stranger.api.baseUrl = simulator.url;
  await expect(stranger.calls.list()).rejects.toSatisfy((error) => code(error) === 20_003);
  expect(simulator.log().refused).toHaveLength(2);
});

it('says instructions of the call request without asking anybody, and asks for others at their end', async () => {
  const { simulator, client, posts, base } = await stage(() => hangup());
  const twiml = message('Smoke. ').replace('/after', `${base}/after`);
  const { sid } = await client.calls.create({ to: '+12065550100', from: simulator.number, twiml });
  expect(await ends(simulator, sid)).toMatchObject({ spoken: ['Smoke. '.repeat(3)], endedBy: 'app' });
  expect(posts.map(({ url }) => url)).toEqual([`${base}/after?what=speech&more=1`]);
  const tooLong = client.calls.create({ to: '+12065550100', from: simulator.number, twiml: twiml.padEnd(4_001) });
  await expect(tooLong).rejects.toSatisfy((error) => code(error) === 20_001);
});

it.each([
  ['refuses', 10_004],
  ['declines', 'busy'],
] as const)('if all lines are busy it %s one more call', async (whenFull, ended) => {
  const { simulator, call } = await stage(() => hangup(), { lines: 1, whenFull, pace: { ringMs: 60_000 } });
  await call('+12065550100');
  const second = await call('+12065551100').then(async ({ sid }) => ends(simulator, sid), code);
  expect(typeof second === 'object' ? second.story.at(-1)?.text : second).toBe(ended);
  expect(simulator.log()).toMatchObject({ turnedAway: [{ to: '+12065551100' }], refused: [] });
});

it.each([
  [401, 20_003],
  [403, 20_403],
  ['number', 21_210],
] as const)('refuses calls with %s when it is told to, and its check says so', async (fault, refusal) => {
  const { simulator, client, call } = await stage(() => hangup());
  const own = async () =>
    (await client.incomingPhoneNumbers.list({ phoneNumber: simulator.number })).map(
      ({ capabilities }) => capabilities.voice,
    );
  expect(await own()).toEqual([true]);
  simulator.setUpFault = fault;
  await expect(call('+12065550100')).rejects.toSatisfy((error) => code(error) === refusal);
  expect(await own().catch(code)).toEqual(fault === 'number' ? [] : refusal);
  simulator.setUpFault = undefined;
  expect([(await call('+12065550100')).status, simulator.log().refused]).toEqual(['queued', []]);
});

it.each([
  ['77', 'after the end of the call: the callee pressed it before', ['completed', 'key']],
  ['76', 'never, and the call ends', ['key', 'completed']],
  ['24', 'never: the question at the end of the message is lost as well', ['end', 'completed']],
])('a number that ends with %s: its key arrives %s', async (digits, _, last) => {
  const { simulator, call } = await stage(({ url }) => (url.includes('/voice') ? gather() : hangup()), {
    pace: { secondMs: 1 },
  });
  const told = await ends(simulator, (await call(`+120655501${digits}`)).sid);
  expect(
    told?.story
      .filter(({ kind }) => kind === 'event')
      .map(({ text }) => text)
      .slice(-2),
  ).toEqual(last);
  expect(told?.endedBy).toBe('network');
});

it('refuses instructions that Twilio would not carry out', async () => {
  for (const wrong of ['no xml', '<Response><Sing/></Response>', '<Response><Say>Hello</Say></Response>', undefined]) {
    const { simulator, call } = await stage(() => wrong);
    const { sid } = await call('+12065550100');
    expect(await ends(simulator, sid)).toMatchObject({ endedBy: 'network', spoken: [] });
    expect(simulator.log().refused).toHaveLength(1);
  }
});

it("answers as Twilio's own description of its API says, and takes what that takes", async () => {
  const { simulator, base } = await stage(() => hangup());
  const root = `${simulator.url}/2010-04-01/Accounts/${simulator.accountSid}`;
  const authorization = `Basic ${Buffer.from(`${simulator.apiKeySid}:${simulator.apiKeySecret}`).toString('base64')}`;
  const ask = async (method: string, path: string, status: number, form: Readonly<Record<string, string>> = {}) => {
    const query = new URLSearchParams(form).toString();
    const response = await fetch(`${root}${path}${method === 'GET' ? `?${query}` : ''}`, {
      method,
      headers: { authorization, ...(method === 'GET' ? {} : { 'content-type': 'application/x-www-form-urlencoded' }) },
      ...(method === 'GET' ? {} : { body: query }),
    });
    const body: unknown = await response.json();
    expect(requestFaults(method, path, Object.keys(form))).toEqual([]);
    expect(answerFaults(method, path, response.status, body)).toEqual([]);
    expect(response.status).toBe(status);
    return z.looseObject({ sid: z.string().default('') }).parse(body);
  };
  const form = { To: '+12065550109', From: simulator.number, Url: `${base}/voice`, Timeout: '60', TimeLimit: '300' };
  const { sid } = await ask('POST', '/Calls.json', 201, form);
  await ask('GET', '/Calls.json', 200, { To: '+12065550109', PageSize: '20' });
  await ask('POST', `/Calls/${sid}.json`, 200, { Status: 'canceled' });
  await ask('GET', `/Calls/${sid}.json`, 200);
});
