import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';

import { AcsCall } from '../../infra/emulators/acs-simulator/acs-call.ts';
import { callingApi } from '../../infra/emulators/acs-simulator/calling-api.ts';
import { createCallBody, playBody } from '../../infra/emulators/acs-simulator/wire.ts';
import type { PostEvent } from '../../infra/emulators/phone-network/deliveries.ts';
import type { PhoneCall } from '../../infra/emulators/phone-network/phone-call.ts';
import type { Reply } from '../../infra/emulators/phone-network/reply.ts';
import { Account } from '../../infra/emulators/twilio-simulator/account.ts';
import { createForm, type Form, TwilioCall } from '../../infra/emulators/twilio-simulator/twilio-call.ts';
import { createCall, errorSchema, listen, play, repeatable, signed } from './acs-requests.ts';

const PARTS = {
  pace: { ringMs: 1_000, eventMs: 100, speakMs: 2_000 },
  print: () => undefined,
  complain: expect.unreachable,
};
const NUMBER = '+12065550199';

const inVirtualTime = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
};

/** Plays a call: the events that reached the app, with their times, and the call as the log tells it. */
const played = async (make: (arrived: (event: string) => void) => PhoneCall) => {
  inVirtualTime();
  const events: string[] = [];
  const call = make((event) => events.push(`${event} ${Date.now() - call.createdAt}`));
  call.begin();
  await vi.advanceTimersByTimeAsync(60_000);
  return { events: events.join(', '), told: call.told() };
};

const TONES: Readonly<Record<string, string>> = { one: '1', two: '2', three: '3', nine: '9' };
const eventSchema = z.object({
  type: z.string().transform((type) => type.replace(/^Microsoft\.Communication\.(ContinuousDtmfRecognition)?/, '')),
  data: z.object({
    resultInformation: z.object({ code: z.number(), subCode: z.number() }),
    tone: z.string().default(''),
  }),
});

/** A call of ACS. The app listens and speaks when the callee has answered, and hangs up 4 s after the message. */
const acsCall = (digits: string, earlierCalls = 0, hasLine = true) =>
  played((arrived) => {
    const post: PostEvent<object> = async (_, event, afterMs) => {
      if (afterMs > 0) await new Promise((resolve) => void setTimeout(resolve, afterMs));
      const { type, data } = eventSchema.parse(event);
      const { code, subCode } = data.resultInformation;
      arrived(`${type}${TONES[data.tone] ?? ''}${code === 200 ? '' : `:${code}/${subCode}`}`);
      if (type === 'CallConnected' && call.state === 'connected' && !hasSpoken) {
        hasSpoken = true;
        call.listen('keys');
        call.play(playBody.parse(play('A message')));
      } else if (/^Play(Completed|Failed)/.test(type)) setTimeout(() => call.end('app'), 4_000);
      return undefined;
    };
    let hasSpoken = false;
    const body = createCallBody.parse(createCall(`+120655501${digits}`));
    const call = new AcsCall({ ...PARTS, earlierCalls, hasLine }, body, post);
    return call;
  });

const GATHER =
  '<Response><Gather input="dtmf" numDigits="1" finishOnKey="" timeout="4" action="http://app/key"><Say voice="a">A message</Say></Gather><Redirect>http://app/end</Redirect></Response>';

/** A call of Twilio with the same instructions. A key ends it. */
const twilioCall = (digits: string, earlierCalls = 0, hasLine = true) =>
  played((arrived) => {
    const post: PostEvent<Form> = async (url, form, afterMs) => {
      if (afterMs > 0) await new Promise((resolve) => void setTimeout(resolve, afterMs));
      const { CallStatus: status, Digits: key = '', SipResponseCode: sip, ErrorCode: error } = form;
      const end = sip === undefined ? '' : `:${[sip, ...(error === undefined ? [] : [error])].join('/')}`;
      arrived(url.endsWith('/status') ? `${status}${end}` : `${url.slice('http://app/'.length)}${key}`);
      return { status: 200, contentType: 'text/xml', body: '<Response><Hangup/></Response>' };
    };
    const form = { To: `+120655501${digits}`, From: NUMBER, Twiml: GATHER, StatusCallback: 'http://app/status' };
    const parts = { ...PARTS, earlierCalls, hasLine, accountSid: '', post };
    return new TwilioCall(parts, createForm.parse(form), new Set(['initiated', 'answered', 'completed']));
  });

const ACS = 'CallConnected 1000, ParticipantsUpdated 1100';
const SPEAKS = `${ACS}, PlayStarted 1100`;
const HEARD = 'PlayCompleted 3100';
const ENDS = 'CallDisconnected 7200';
const TWILIO = 'initiated 0, in-progress 1000';
/** The app listens until 4 s after the message, and hangs up. */
const AFTER = 'end 7100, completed:200 7100';

it.each([
  ['00', `${SPEAKS}, ${HEARD}, ${ENDS}`, `${TWILIO}, ${AFTER}`],
  ['01', 'CreateCallFailed:480/560480 1000, CallDisconnected 1000', 'initiated 0, no-answer:480 1000'],
  ['02', 'CreateCallFailed:486/560486 1000, CallDisconnected 1000', 'initiated 0, busy:486 1000'],
  ['03', 'CreateCallFailed:487/10024 1000, CallDisconnected 1000', 'initiated 0, busy:603 1000'],
  ['04', 'CreateCallFailed:484/560484 1000, CallDisconnected 1000', 'initiated 0, failed:484 1000'],
  ['05', 'CreateCallFailed:403/510403 1000, CallDisconnected 1000', 'initiated 0, failed:403 1000'],
  [
    '09',
    'CallConnected 10000, ParticipantsUpdated 10100, PlayStarted 10100, PlayCompleted 12100, CallDisconnected 16200',
    'initiated 0, in-progress 10000, end 16100, completed:200 16100',
  ],
  ['10', `${ACS}, PlayFailed:400/8565 1100, CallDisconnected 5200`, `${TWILIO}, ${AFTER}`],
  ['12', `${SPEAKS}, PlayCanceled 2100, CallDisconnected 2200`, `${TWILIO}, completed:200 2100`],
  ['19', 'CallConnected 1000, PlayCanceled 1000, CallDisconnected 1100', `${TWILIO}, completed:200 1000`],
  [
    '22',
    'ParticipantsUpdated 1000, CallConnected 1100, PlayCompleted 3200, PlayStarted 3300, CallDisconnected 7300, CallConnected 7400',
    `in-progress 1000, initiated 5000, ${AFTER}`,
  ],
  [
    '23',
    'CallConnected 0, ParticipantsUpdated 100, PlayStarted 100, PlayCompleted 2100, CallDisconnected 6200',
    'initiated 0, in-progress 0, end 6100, completed:200 6100',
  ],
  ['24', SPEAKS, `${TWILIO}, completed:200 7100`],
  ['25', 'ParticipantsUpdated 1100', `initiated 0, ${AFTER}`],
  ['29', '', 'initiated 0'],
  ['44', SPEAKS, TWILIO],
  ['48', 'CallDisconnected 1000', 'initiated 0'],
  ['49', 'CreateCallFailed:487/10004 1000, CallDisconnected 1000', 'initiated 0, no-answer:487 1000'],
  ['58', `${SPEAKS}, PlayCanceled 2600, CallDisconnected 2700`, `${TWILIO}, completed:200 2600`],
  ['70', `${SPEAKS}, ToneReceived1 2100, ${HEARD}, ${ENDS}`, `${TWILIO}, key1 2100, completed:200 2100`],
  ['71', `${SPEAKS}, ${HEARD}, ToneReceived1 3100, ${ENDS}`, `${TWILIO}, key1 3100, completed:200 3100`],
  [
    '72',
    `${SPEAKS}, ToneReceived1 2100, ToneReceived1 2300, ${HEARD}, ${ENDS}`,
    `${TWILIO}, key1 2100, completed:200 2100`,
  ],
  ['73', `${ACS}, ToneReceived1 1100, PlayStarted 1100, ${HEARD}, ${ENDS}`, `${TWILIO}, key1 1100, completed:200 1100`],
  ['75', `${SPEAKS}, ${HEARD}, ${ENDS}`, `${TWILIO}, ${AFTER}`],
  ['76', `${SPEAKS}, ${HEARD}, ${ENDS}`, `${TWILIO}, completed:200 2100`],
  ['77', `${SPEAKS}, ${HEARD}, ${ENDS}, ToneReceived1 7400`, `${TWILIO}, completed:200 2200, key1 2500`],
  ['78', `${SPEAKS}, ToneFailed:400/8500 2100, ${HEARD}, ${ENDS}`, `${TWILIO}, ${AFTER}`],
  [
    '79',
    `${SPEAKS}, ToneReceived1 2100, PlayCanceled 2100, CallDisconnected 2200`,
    `${TWILIO}, key1 2100, completed:200 2100`,
  ],
  ['83', `${SPEAKS}, ${HEARD}, ToneReceived1 6600, ${ENDS}`, `${TWILIO}, key1 6600, completed:200 6600`],
  ['85', `${SPEAKS}, ToneReceived3 2100, ${HEARD}, ${ENDS}`, `${TWILIO}, key3 2100, completed:200 2100`],
  [
    '87',
    `${SPEAKS}, ToneReceived1 2100, ToneReceived3 2300, ${HEARD}, ${ENDS}`,
    `${TWILIO}, key1 2100, completed:200 2100`,
  ],
])('a number that ends with %s has these events at ACS and at Twilio', async (digits, acs, twilio) => {
  expect([(await acsCall(digits)).events, (await twilioCall(digits)).events]).toEqual([acs, twilio]);
});

it('21 repeats every event', async () => {
  expect((await acsCall('21')).events).toContain('CallConnected 1000, CallConnected 1000, ParticipantsUpdated 1100');
  const { events } = await twilioCall('21');
  expect(events).toBe(`${TWILIO}, ${AFTER}`.replaceAll(/\S+ \d+/g, '$&, $&'));
});

it.each([
  ['06', ['486/560486', 'answered'], ['486', '200']],
  ['07', ['480/560480', 'answered'], ['480', '200']],
  ['08', ['486/560486', '480/560480', 'answered'], ['486', '480', '200']],
  ['39', ['403/8530', 'answered'], ['487/10004', '200']],
  ['46', ['603/560603', 'answered'], ['603', '200']],
])('a number that ends with %s changes from call to call', async (digits, acs, twilio) => {
  for (const index of acs.keys()) {
    expect(/Failed:(\S+)/.exec((await acsCall(digits, index)).events)?.[1] ?? 'answered').toBe(acs[index]);
    expect(/:(\S+)/.exec((await twilioCall(digits, index)).events)?.[1]).toBe(twilio[index]);
  }
});

it('74 presses no key in the first call, and 1 in the next', async () => {
  for (const call of [acsCall, twilioCall]) {
    expect((await call('74')).events).not.toMatch(/key|Tone/);
    expect((await call('74', 1)).events).toMatch(/(key|ToneReceived)1 2100/);
  }
});

it('a call without a line is declined a moment later, and the callee hears nothing', async () => {
  expect((await acsCall('00', 0, false)).events).toBe('CreateCallFailed:603/560603 100, CallDisconnected 100');
  const { events, told } = await twilioCall('00', 0, false);
  expect([events, told.spoken]).toEqual(['initiated 0, busy:603 100', []]);
});

it('the log tells how much of a text the callee heard, and who ended the call', async () => {
  for (const call of [acsCall, twilioCall]) {
    const { told } = await call('58');
    const startedAt = expect.any(String);
    expect([told.spoken, told.speeches, told.endedBy, told.state]).toEqual([
      ['A message'],
      [{ text: 'A message', startedAt, spokenMs: 1_500, isComplete: false }],
      'callee',
      'ended',
    ]);
  }
});

it('a callee whose key the service did not hear presses it again when the service listens', async () => {
  inVirtualTime();
  const keys: unknown[] = [];
  const post: PostEvent<object> = async (_, event) => {
    const { type, data } = eventSchema.parse(event);
    if (type === 'ToneReceived') keys.push(data.tone);
    return Promise.resolve(undefined);
  };
  const body = createCallBody.parse(createCall('+12065550170'));
  const call = new AcsCall({ ...PARTS, earlierCalls: 0, hasLine: true }, body, post);
  call.begin();
  await vi.advanceTimersByTimeAsync(1_000);
  call.play(playBody.parse(play('A message')));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(keys).toEqual([]);
  call.listen('keys');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(keys).toEqual(['one']);
});

const unanswered = async () => Promise.resolve(undefined);
const OPTIONS = { pace: { ringMs: 10, eventMs: 10, speakMs: 60_000 } };
const ACTIONS = { createCall: '', play: ':play', listen: ':startContinuousDtmfRecognition', hangUp: ':terminate' };
type Kind = keyof typeof ACTIONS;

/** How ACS answers requests about a number. The request for the call is the same each time, as the SDK repeats it. */
const acsAsked = (number: string) => {
  const accessKey = 'dGVzdA==';
  const api = callingApi(OPTIONS, accessKey, unanswered);
  const callHeaders = repeatable();
  const bodies = { createCall: createCall(number), play: play('x'), listen: listen(number), hangUp: undefined };
  const ask = (kind: Kind): Reply => {
    const path = kind === 'createCall' ? '' : `/${api.network.calls[0]?.id}${ACTIONS[kind]}`;
    const acs = { url: 'http://acs', connectionString: `accesskey=${accessKey}` };
    const repeats = kind === 'createCall' ? callHeaders : repeatable();
    const { url, headers, text, method } = signed(acs, path, bodies[kind], repeats);
    const request = { method, url: `${url.pathname}${url.search}`, headers: { ...headers, host: url.host } };
    return api.network.reply('', () => api.carryOut(request, url, text));
  };
  return { ask, calls: () => api.network.calls.length };
};

const twilioAsked = (number: string) => {
  const account = new Account({ ...OPTIONS, accountSid: '', ownNumber: NUMBER, post: unanswered });
  const ask = (kind: Kind): Reply => {
    const [path, form] =
      kind === 'createCall'
        ? ['/Calls.json', { To: number, From: NUMBER, Twiml: GATHER }]
        : [`/Calls/${account.calls[0]?.sid}.json`, { Status: 'completed' }];
    const values = new URLSearchParams(form);
    return account.reply({ method: 'POST', path, query: new URLSearchParams(), form: values });
  };
  return { ask, calls: () => account.calls.length };
};

const wordsOf = (reply: Reply | undefined): string => {
  vi.advanceTimersByTime(100);
  if (typeof reply !== 'object') return String(reply);
  const error = z
    .union([errorSchema, z.object({ code: z.number() }).transform(({ code }) => code)])
    .safeParse(reply.body);
  const after = reply.headers?.['retry-after'];
  return `${reply.status}${error.success ? `/${error.data}` : ''}${after === undefined ? '' : ` after ${after}`}`;
};

it.each<[digits: string, kind: Kind, calls: readonly number[], acs: readonly string[], twilio?: readonly string[]]>([
  ['13', 'play', [1], ['400/8535', '400/8535']],
  ['15', 'play', [1], ['answer lost', '202']],
  ['16', 'play', [1], ['hangs', '202']],
  ['30', 'createCall', [1, 1], ['429/TooManyRequests after 1', '201'], ['429/20429 after 1', '201']],
  ['31', 'createCall', [0, 0], Array(3).fill('429/TooManyRequests after 600'), Array(3).fill('429/20429 after 600')],
  ['32', 'createCall', [1, 1], ['hangs', '201'], ['hangs', '201']],
  ['33', 'createCall', [0, 0], Array(3).fill('hangs'), Array(3).fill('hangs')],
  // Twilio has no id by which it would know a repeated request.
  ['34', 'createCall', [1, 2], ['answer lost', '201'], ['answer lost', '201']],
  ['36', 'createCall', [0, 0], ['400/560484', '400/560484'], ['400/21211', '400/21211']],
  ['40', 'hangUp', [1, 1], ['answer lost', '404/8522'], ['answer lost', '400/21220']],
  ['55', 'play', [1], ['400/8585', '202']],
  ['60', 'hangUp', [1, 1], ['410/Gone', '404/8522'], ['400/21220', '400/21220']],
  ['80', 'listen', [1], ['400/8500', '400/8500']],
  ['82', 'listen', [1], ['answer lost', '200']],
  ['94', 'play', [1], ['202', '400/8535']],
])(
  'a number that ends with %s answers requests to %s so: %j calls, %j at ACS, %j at Twilio',
  (digits, kind, calls, ...all) => {
    inVirtualTime();
    for (const [index, answers] of all.entries()) {
      const asked = [acsAsked, twilioAsked][index]?.(`+120655501${digits}`);
      if (kind !== 'createCall') wordsOf(asked?.ask('createCall'));
      expect(answers?.map(() => wordsOf(asked?.ask(kind)))).toEqual(answers);
      expect(asked?.calls()).toBe(calls[index]);
    }
  },
);
