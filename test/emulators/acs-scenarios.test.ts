import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';

import { CallingApi } from '../../infra/emulators/acs-simulator/calling-api.ts';
import type { CallStory } from '../../infra/emulators/acs-simulator/story.ts';
import { SimulatedCall } from '../../infra/emulators/acs-simulator/simulated-call.ts';
import { createCallBody, playBody } from '../../infra/emulators/acs-simulator/wire.ts';
import { createCall, errorSchema, listen, play, repeatable, signed } from './acs-requests.ts';

const postedSchema = z.object({
  type: z.string().transform((type) => type.replace(/^Microsoft\.Communication\.(ContinuousDtmfRecognition)?/, '')),
  data: z.object({ resultInformation: z.object({ code: z.number(), subCode: z.number() }) }),
});

const silent = (): void => undefined;

interface Played {
  readonly told: CallStory;
  /** A word for each event and each message that begins; ParticipantsUpdated is left out. */
  readonly story: string;
}

/**
 * Plays one call in virtual time with an app that listens and speaks when somebody has answered, and hangs up soon after the message.
 *
 * @param earlierCalls how often the number has rung before
 */
const playCall = (digits: string, { earlierCalls = 0, listensAfterMs = 0 } = {}): Played => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const done = new Set<string>();
  const arrived: string[] = [];
  const post = (_: string, event: object): void => {
    const { type, data } = postedSchema.parse(event);
    const { code, subCode } = data.resultInformation;
    arrived.push(code === 200 ? type : `${type}:${code}/${subCode}`);
    if (call.state !== 'connected' || done.has(type)) return;
    done.add(type);
    if (type === 'CallConnected') {
      if (listensAfterMs < Infinity) setTimeout(() => call.listen('keys'), listensAfterMs);
      call.play(playBody.parse(play('A message')));
    } else if (/^Play(Completed|Failed)/.test(type)) setTimeout(() => call.terminate(), 150);
  };
  const call: SimulatedCall = new SimulatedCall({
    body: createCallBody.parse(createCall(`+120655501${digits}`)),
    earlierCalls,
    pace: { ringMs: 1_000, eventMs: 100, speakMs: 2_000 },
    deliveries: { post, later: (ms, report) => void setTimeout(report, ms) },
    print: silent,
  });
  call.begin();
  vi.advanceTimersByTime(60_000);
  const told = call.told();
  const words = told.story.flatMap(({ kind, text, answer }) => {
    if (kind === 'speech') return ['heard'];
    return answer === 'lost' ? [`lost:${text.replace('ContinuousDtmfRecognition', '')}`] : (arrived.shift() ?? []);
  });
  return { told, story: words.filter((word) => word !== 'ParticipantsUpdated').join(' ') };
};

const ALL_GOES_WELL = 'CallConnected PlayStarted heard PlayCompleted CallDisconnected';

// A row for each kind of course: what is another code, or another event that is lost, only the table of the scenarios says.
describe('what becomes of a call to a number that ends with', () => {
  it.each([
    ['00', 'app', ALL_GOES_WELL],
    ['01', 'network', 'CreateCallFailed:480/560480 CallDisconnected'],
    ['10', 'app', 'CallConnected PlayFailed:400/8565 CallDisconnected'],
    ['12', 'callee', 'CallConnected PlayStarted heard PlayCanceled CallDisconnected'],
    ['19', 'callee', 'CallConnected PlayCanceled CallDisconnected'],
    ['20', 'app', 'CallConnected CallConnected CallConnected PlayStarted heard PlayCompleted CallDisconnected'],
    ['21', 'app', ALL_GOES_WELL.replaceAll(/[A-Z]\w+/g, '$& $&')],
    ['22', 'app', 'CallConnected heard PlayCompleted PlayStarted CallDisconnected CallConnected'],
    ['23', 'app', ALL_GOES_WELL],
    ['24', undefined, 'CallConnected PlayStarted heard lost:PlayCompleted'],
    ['26', 'app', `CallTimeTravelled ${ALL_GOES_WELL.replace(' ', ' RecognizeFizzled:400/1 ')}`],
    ['29', 'network', 'lost:CreateCallFailed lost:CallDisconnected'],
    ['47', 'network', 'CallDisconnected CreateCallFailed:487/10024'],
  ] as const)('%s: %s ends it, and the story is %s', (digits, endedBy, story) => {
    expect([playCall(digits).told.endedBy, playCall(digits).story]).toEqual([endedBy, story]);
  });

  it.each([
    ['70', 'CallConnected PlayStarted heard ToneReceived PlayCompleted CallDisconnected'],
    ['71', 'CallConnected PlayStarted heard PlayCompleted ToneReceived CallDisconnected'],
    ['72', 'CallConnected PlayStarted heard ToneReceived ToneReceived PlayCompleted CallDisconnected'],
    ['73', 'CallConnected ToneReceived PlayStarted heard PlayCompleted CallDisconnected'],
    ['77', 'CallConnected PlayStarted heard PlayCompleted CallDisconnected ToneReceived'],
    ['78', 'CallConnected PlayStarted heard ToneFailed:400/8500 PlayCompleted CallDisconnected'],
    ['79', 'CallConnected PlayStarted heard ToneReceived PlayCanceled CallDisconnected'],
  ])('%s: a service that listens is told %s, and one that does not of no key', (digits, story) => {
    expect(playCall(digits).story).toBe(story);
    expect(playCall(digits, { listensAfterMs: Infinity }).story).toBe(story.replaceAll(/ (lost:)?Tone\S+/g, ''));
  });

  it('70: a service that listens late is told of a key that was pressed before', () => {
    expect(playCall('70', { listensAfterMs: 1_500 }).story).toBe(playCall('70').story);
  });

  it.each([
    ['06', ['CreateCallFailed:486/560486 CallDisconnected', ALL_GOES_WELL]],
    [
      '08',
      ['CreateCallFailed:486/560486 CallDisconnected', 'CreateCallFailed:480/560480 CallDisconnected', ALL_GOES_WELL],
    ],
    ['74', [ALL_GOES_WELL, 'CallConnected PlayStarted heard ToneReceived PlayCompleted CallDisconnected']],
  ])('%s: it is another one at each call', (digits, stories) => {
    expect(stories.map((_, earlierCalls) => playCall(digits, { earlierCalls }).story)).toEqual(stories);
  });

  it.each([
    // Milliseconds of ringing, of the message, and to the end of the line after it.
    ['09', 10_000, 2_000, 150],
    ['58', 1_000, 1_500, 0],
    ['23', 0, 2_000, 150],
  ])('%s: it takes its time', (digits, ringing, spoken, more) => {
    const { told } = playCall(digits);
    const [speech] = told.speeches;
    const [rang, answered, started, ended] = [told.rangAt, told.answeredAt, speech?.startedAt, told.endedAt].map(
      (text) => Date.parse(text ?? ''),
    );
    expect(speech).toMatchObject({ text: 'A message', spokenMs: spoken, isComplete: more > 0 });
    expect([Number(answered) - Number(rang), Number(ended) - Number(started)]).toEqual([ringing, spoken + more]);
  });
});

const ACTIONS = { play: ':play', listen: ':startContinuousDtmfRecognition', hangUp: ':terminate' } as const;
/** What a request is answered with that is carried out. */
const DONE = { createCall: '201', play: '202', listen: '200', hangUp: '204' } as const;

describe('what becomes of the requests about a call to a number that ends with', () => {
  it.each([
    ['13', 'play', ['400/8535', '400/8535', '400/8535']],
    ['15', 'play', ['answer lost', DONE.play]],
    ['31', 'createCall', ['429/TooManyRequests after 600', '429/TooManyRequests after 600']],
    ['34', 'createCall', ['answer lost', DONE.createCall]],
    ['38', 'createCall', ['answer lost', 'answer lost']],
    ['35', 'createCall', ['500/Simulated', '500/Simulated', DONE.createCall]],
    ['40', 'hangUp', ['answer lost', '404/8522']],
    ['43', 'play', ['hangs', '404/8522']],
    ['60', 'hangUp', ['410/Gone', '404/8522']],
    ['81', 'listen', ['hangs', 'hangs']],
  ] as const)('%s: %s gets %j', (digits, kind, expected) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const accessKey = 'dGVzdA==';
    const pace = { ringMs: 10, eventMs: 10, speakMs: 60_000 };
    const api = new CallingApi({
      accessKey,
      pace,
      lines: 2,
      deliveries: { post: silent, later: silent },
      print: silent,
    });
    const number = `+120655501${digits}`;
    // The request for the call is the same one each time, as the SDK repeats it.
    const call = repeatable();
    const bodies = { createCall: createCall(number), play: play('x'), listen: listen(number), hangUp: undefined };
    const requested = (asked: keyof typeof DONE): string => {
      const path = asked === 'createCall' ? '' : `/${api.log().calls[0]?.id}${ACTIONS[asked]}`;
      const acs = { url: 'http://acs', connectionString: `accesskey=${accessKey}` };
      const { url, headers, text } = signed(acs, path, bodies[asked], asked === 'createCall' ? call : repeatable());
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
    expect(api.log().calls.length, 'it rings once').toBeLessThanOrEqual(1);
  });
});
