import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';

import { AcsCall } from '../../infra/emulators/acs-simulator/acs-call.ts';
import { CallingApi } from '../../infra/emulators/acs-simulator/calling-api.ts';
import { createCallBody, playBody } from '../../infra/emulators/acs-simulator/wire.ts';
import { PhoneNetwork } from '../../infra/emulators/phone-network/phone-network.ts';
import { createCall, errorSchema, listen, play, repeatable, signed } from './acs-requests.ts';

const PACE = { ringMs: 1_000, eventMs: 100, speakMs: 2_000 };
const silent = (): void => undefined;

const inVirtualTime = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
};

const eventSchema = z.object({
  type: z.string().transform((type) => type.replace(/^Microsoft\.Communication\.(ContinuousDtmfRecognition)?/, '')),
  data: z.object({ resultInformation: z.object({ code: z.number(), subCode: z.number() }) }),
});

/** The events of a call with an app that listens and speaks when somebody has answered, and hangs up soon after the message. */
const eventsOf = async (digits: string): Promise<string> => {
  inVirtualTime();
  const arrived: string[] = [];
  const post = async (_: string, event: object, afterMs: number): Promise<string> => {
    if (afterMs > 0) await new Promise((resolve) => void setTimeout(resolve, afterMs));
    const { type, data } = eventSchema.parse(event);
    const { code, subCode } = data.resultInformation;
    const isFirst = !arrived.includes(type);
    arrived.push(code === 200 ? type : `${type}:${code}/${subCode}`);
    if (type === 'CallConnected' && isFirst && call.state === 'connected') {
      call.listen('keys');
      call.play(playBody.parse(play('A message')));
    } else if (/^Play(Completed|Failed)/.test(type)) setTimeout(() => call.end('app'), 150);
    return '200';
  };
  const to = `+120655501${digits}`;
  const parts = {
    id: 'a-call',
    to,
    from: '',
    callbackUri: '',
    earlierCalls: 0,
    hasLine: true,
    pace: PACE,
    print: silent,
  };
  const call: AcsCall = new AcsCall(parts, createCallBody.parse(createCall(to)), '', post);
  call.begin();
  await vi.advanceTimersByTimeAsync(60_000);
  return arrived.join(' ');
};

const GOOD = 'CallConnected ParticipantsUpdated PlayStarted PlayCompleted CallDisconnected';

it.each([
  ['00', GOOD],
  ['01', 'CreateCallFailed:480/560480 CallDisconnected'],
  ['10', 'CallConnected ParticipantsUpdated PlayFailed:400/8565 CallDisconnected'],
  ['12', 'CallConnected ParticipantsUpdated PlayStarted PlayCanceled CallDisconnected'],
  ['19', 'CallConnected PlayCanceled CallDisconnected'],
  ['21', GOOD.replaceAll(/\w+/g, '$& $&')],
  ['22', 'ParticipantsUpdated CallConnected PlayCompleted PlayStarted CallDisconnected CallConnected'],
  ['24', 'CallConnected ParticipantsUpdated PlayStarted'],
  ['29', ''],
  ['70', GOOD.replace('Started', 'Started ToneReceived')],
  ['73', GOOD.replace('PlayStarted', 'ToneReceived PlayStarted')],
  ['77', `${GOOD} ToneReceived`],
  ['78', GOOD.replace('Started', 'Started ToneFailed:400/8500')],
])('ACS reports of a number that ends with %s: %s', async (digits, events) => {
  expect(await eventsOf(digits)).toBe(events);
});

const ACTIONS = {
  createCall: '',
  play: ':play',
  listen: ':startContinuousDtmfRecognition',
  hangUp: ':terminate',
} as const;

it.each([
  ['13', 'play', ['400/8535', '400/8535']],
  ['15', 'play', ['answer lost', '202']],
  ['16', 'play', ['hangs', '202']],
  ['31', 'createCall', ['429/TooManyRequests after 600', '429/TooManyRequests after 600']],
  ['34', 'createCall', ['answer lost', '201']],
  ['40', 'hangUp', ['answer lost', '404/8522']],
  ['60', 'hangUp', ['410/Gone', '404/8522']],
  ['80', 'listen', ['400/8500', '400/8500']],
  ['82', 'listen', ['answer lost', '200']],
] as const)('a request about a number that ends with %s to %s is answered %j', (digits, kind, expected) => {
  inVirtualTime();
  const accessKey = 'dGVzdA==';
  const network = new PhoneNetwork<AcsCall>({
    pace: { ringMs: 10, eventMs: 10, speakMs: 60_000 },
    lines: 2,
    whenFull: 'refuses',
    print: silent,
  });
  const api = new CallingApi(network, accessKey, async () => Promise.resolve('200'));
  const number = `+120655501${digits}`;
  // The request for the call is the same one each time, as the SDK repeats it.
  const callHeaders = repeatable();
  const bodies = { createCall: createCall(number), play: play('x'), listen: listen(number), hangUp: undefined };
  const requested = (asked: keyof typeof ACTIONS): string => {
    const path = asked === 'createCall' ? '' : `/${network.calls[0]?.id}${ACTIONS[asked]}`;
    const acs = { url: 'http://acs', connectionString: `accesskey=${accessKey}` };
    const { url, headers, text } = signed(
      acs,
      path,
      bodies[asked],
      asked === 'createCall' ? callHeaders : repeatable(),
    );
    const request = { method: 'POST', url: `${url.pathname}${url.search}`, headers: { ...headers, host: url.host } };
    const reply = api.reply(request, text);
    vi.advanceTimersByTime(100);
    if (typeof reply === 'string') return reply;
    const error = errorSchema.safeParse(reply.body).data;
    const after = reply.headers?.['retry-after'];
    return `${reply.status}${error === undefined ? '' : `/${error}`}${after === undefined ? '' : ` after ${after}`}`;
  };
  if (kind !== 'createCall') requested('createCall');
  expect(expected.map(() => requested(kind))).toEqual(expected);
  expect(network.calls.length, 'it rings once').toBeLessThanOrEqual(1);
});
