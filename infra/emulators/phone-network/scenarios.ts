import type { ErrorCode } from './reply.ts';

/** How a call ends, in the codes of ACS: code and sub-code. */
export type Result = readonly [code: number, subCode: number];

/** How a scenario spoils a request. */
type Fault =
  /** Answered with an error of ACS, or with Twilio's error for it. Carried out only if the call has just ended. */
  | { readonly code: ErrorCode; readonly retryAfterSeconds?: number; readonly hasEnded?: true }
  /** Not carried out and never answered. */
  | 'hangs'
  /** Carried out, but the connection breaks before the answer. */
  | 'answer lost'
  | 'none';

/** The requests that a scenario may spoil. */
export type RequestKind = 'createCall' | 'play' | 'listen' | 'hangUp';

/** A key that a callee presses. */
export interface KeyPress {
  readonly key: '1' | '2' | '3' | '9';
  /** The index of the speech during which the callee presses it, from 0. */
  readonly speech: number;
  /** The part of the speech before the key: 0 with the first word, 1 after the last word. */
  readonly at: number;
  /** The delay after that point, in milliseconds. */
  readonly laterMs?: number;
  /** The report follows after the end of the call, or only says that a key was not understood. By default it follows at once. */
  readonly reported?: 'after the call' | 'not understood';
}

/** How a callee and their network behave. By default, the callee answers and hears the whole message. */
interface Course {
  /** Each call fails with this result. */
  readonly unreachable?: Result;
  /** The first calls to the number fail with these results. */
  readonly firstCalls?: readonly Result[];
  /** The ringing takes this many times as long as usual. */
  readonly ringing?: number;
  /** Speech fails with this result. */
  readonly playFails?: Result;
  /** The part of the message that the callee hears before they hang up. */
  readonly hangsUpAt?: number;
  /** Reported only to a service that listens. */
  readonly presses?: readonly KeyPress[];
  /** The number of first calls in which the callee presses no key. */
  readonly callsWithoutKey?: number;
  /** How often each event is posted. */
  readonly copies?: number;
  /** Events of ACS that never arrive. Twilio loses the corresponding requests. */
  readonly lost?: readonly string[];
  /** An early event arrives last, and others in the wrong order. */
  readonly reordered?: true;
  /** Twilio reports early media as an answer, although the callee does not answer. */
  readonly earlyMedia?: true;
  /** Twilio reports the answer after the end of the call. */
  readonly answerReported?: 'after the call';
  /** The callee answers before the call request is answered. */
  readonly connectedFirst?: true;
  /** The faults of the first requests of a kind, or of all its requests. */
  readonly faults?: { readonly [kind in RequestKind]?: readonly Fault[] } & { readonly always?: true };
}

const NO_ANSWER: Result = [480, 560_480];
const BUSY: Result = [486, 560_486];
const DECLINED_OR_NO_LINE: Result = [603, 560_603];
/** The limit of active calls is reached: no phone rings. */
export const NO_LINE: Result = [403, 8_530];

const refused = (status: number, code: string): Fault => ({ code: [status, code] });
const throttled = (retryAfterSeconds: number): Fault => ({ code: [429, 'TooManyRequests'], retryAfterSeconds });
const spoils = (kind: RequestKind, ...faults: readonly Fault[]): Course => ({ faults: { [kind]: faults } });
const alwaysSpoils = (kind: RequestKind, fault: Fault): Course => ({ faults: { [kind]: [fault], always: true } });
const never = (result: Result, ...lost: readonly string[]): Course => ({ unreachable: result, lost });
const hangsUp = (hangsUpAt: number, ...lost: readonly string[]): Course => ({ hangsUpAt, lost });

const press = (key: KeyPress['key'], at = 0.5, speech = 0): KeyPress => ({ key, at, speech });
const presses = (...keys: readonly KeyPress[]): Course => ({ presses: keys });
const [ONE, TWO, THREE] = [press('1'), press('2'), press('3')];
const late: KeyPress = { ...ONE, reported: 'after the call' };
const HANGS_UP_LATE: Fault = { code: [410, 'Gone'], hasEnded: true };

/** The scenario for the last two digits of a number: a few words for the log and the README, and the course of the calls. */
const TABLE: Readonly<Record<string, readonly [name: string, course: Course]>> = {
  '01': ['no answer', never(NO_ANSWER)],
  '02': ['busy', never(BUSY)],
  '03': ['declined', never([487, 10_024])],
  '04': ['invalid number', never([484, 560_484])],
  '05': ['blocked as spam', never([403, 510_403])],
  '06': ['busy, then answered', { firstCalls: [BUSY] }],
  '07': ['no answer, then answered', { firstCalls: [NO_ANSWER] }],
  '08': ['busy, no answer, then answered', { firstCalls: [BUSY, NO_ANSWER] }],
  '09': ['answered after ten times the usual ringing', { ringing: 10 }],

  '10': ['speech refused', { playFails: [400, 8_565] }],
  '12': ['callee hangs up mid-message', hangsUp(0.5)],
  '13': ['play request refused', alwaysSpoils('play', refused(400, '8535'))],
  '15': ["play request's answer lost", spoils('play', 'answer lost')],
  '16': ['play request never answered', spoils('play', 'hangs')],
  '19': ['callee hangs up before the message', hangsUp(0)],

  '21': ['every event repeated', { copies: 2 }],
  '22': ['events reordered', { reordered: true }],
  '23': ["answered before the call request's answer", { connectedFirst: true }],
  '24': ['PlayCompleted lost', { lost: ['PlayCompleted'] }],
  '25': ['CallConnected lost', { lost: ['CallConnected'] }],
  '29': ['no answer, and all events about it are lost', never(NO_ANSWER, 'CreateCallFailed', 'CallDisconnected')],

  '30': ['call request throttled once, for 1 s', spoils('createCall', throttled(1))],
  '31': ['call request throttled for ever', alwaysSpoils('createCall', throttled(600))],
  '32': ['call request never answered the first time', spoils('createCall', 'hangs')],
  '33': ['call request never answered', alwaysSpoils('createCall', 'hangs')],
  '34': ["call request's answer lost", spoils('createCall', 'answer lost')],
  '36': ['call request refused: invalid number', alwaysSpoils('createCall', refused(400, '560484'))],
  '39': ['call request accepted, then no line once', { firstCalls: [NO_LINE] }],

  '40': ["hang-up request's answer lost", spoils('hangUp', 'answer lost')],
  '44': [
    'callee hangs up mid-message, and the events about it are lost',
    hangsUp(0.5, 'PlayCanceled', 'CallDisconnected'),
  ],
  '45': ['declined or no line', never(DECLINED_OR_NO_LINE)],
  '46': ['declined or no line once, then answered', { firstCalls: [DECLINED_OR_NO_LINE] }],
  '48': ['no answer, and no event says so', never(NO_ANSWER, 'CreateCallFailed')],
  '49': ['no answer: canceled on timeout', never([487, 10_004])],

  '50': [
    'no answer, and Twilio reports an answer after that',
    { ...never(NO_ANSWER), earlyMedia: true, answerReported: 'after the call' },
  ],
  '51': ['invalid number, and Twilio reports an answer before that', { ...never([484, 560_484]), earlyMedia: true }],
  '52': [
    'callee hangs up early, and Twilio reports the answer after that',
    { ...hangsUp(0.1), answerReported: 'after the call' },
  ],
  '55': ['play request refused once: not in that state', spoils('play', refused(400, '8585'))],
  '58': ['callee hangs up after three quarters of the message', hangsUp(0.75)],
  '60': ['hang-up request answered 410: it has ended', spoils('hangUp', HANGS_UP_LATE)],

  '70': ['presses 1 in the middle of the message', presses(ONE)],
  '71': ['presses 1 when the message is over', presses(press('1', 1))],
  '72': ['presses 1 twice', presses(ONE, press('1', 0.6))],
  '73': ['presses 1 with the first word', presses(press('1', 0))],
  '74': ['presses no key in the first call, and 1 in the next', { ...presses(ONE), callsWithoutKey: 1 }],
  '75': ['mailbox: listens to the end, and no key is pressed', {}],
  '76': ['presses 1, and the event is lost', { ...presses(ONE), lost: ['ContinuousDtmfRecognitionToneReceived'] }],
  '77': ['presses 1, and the event arrives after the end of the call', presses(late)],
  '78': ['presses a key that is not understood', presses({ ...ONE, reported: 'not understood' })],
  '79': ['presses 1, and hangs up at once', { ...presses(ONE), hangsUpAt: 0.5 }],
  '80': ['start of listening refused', { ...presses(ONE), ...alwaysSpoils('listen', refused(400, '8500')) }],
  '82': ["start of listening's answer lost, and 1", { ...presses(ONE), ...spoils('listen', 'answer lost') }],
  '83': ['presses 1 late: 3.5 s after the last word', presses({ ...press('1', 1), laterMs: 3_500 })],
  '84': ['presses 2, then 1', presses(TWO, press('1', 0.5, 1))],
  '85': ['presses 3: cannot go', presses(THREE)],
  '86': ['presses 9, which says nothing', presses(press('9'))],
  '87': ['presses 1 and 3', presses(ONE, press('3', 0.6))],
  '88': ['presses 3 and 1', presses(THREE, press('1', 0.6))],
  '91': ['presses 3 and 1, which is reported after the call', presses(THREE, late)],
  '92': ['presses 2 in each speech, three times', presses(TWO, press('2', 0.5, 1), press('2', 0.5, 2))],
  '94': [
    'presses 1, and the request to say goodbye is refused',
    { ...presses(ONE), ...spoils('play', 'none', refused(400, '8535')) },
  ],
};

/** All scenarios, for the README. Any other number is answered, and all goes well. */
export const SCENARIOS = Object.entries(TABLE).map(([digits, [name]]) => ({ digits, name }));

/**
 * The scenario of a number.
 *
 * @example scenarioOf('+12065550102').name // 'busy'
 */
export const scenarioOf = (number: string): Course & { readonly name: string } => {
  const [name, course] = TABLE[number.slice(-2)] ?? ['answered', {}];
  return { name, ...course };
};
