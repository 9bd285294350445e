/** What may happen to a request instead of being carried out and answered. */
export type Fault =
  /** Answered so and not carried out, unless it says so: the call has just ended by itself then. */
  | {
      readonly answer: number;
      readonly code: string;
      readonly retryAfterSeconds?: number;
      readonly isCarriedOut?: true;
    }
  /** Not carried out and never answered. */
  | 'hangs'
  /** Carried out, but the answer is lost: the connection breaks. */
  | 'answer lost'
  /** Carried out and answered. */
  | 'none';

/** An ACS result: code and sub-code. */
export type Result = readonly [code: number, subCode: number];

/** The events of ACS that a scenario may lose. */
export type CallEventName =
  | 'CallConnected'
  | 'CreateCallFailed'
  | 'PlayStarted'
  | 'PlayCompleted'
  | 'PlayCanceled'
  | 'CallDisconnected'
  | 'ContinuousDtmfRecognitionToneReceived';

/** A key that a callee presses. */
export interface KeyPress {
  /** As ACS names it. */
  readonly tone: 'one' | 'two' | 'three' | 'nine';
  /**
   * - `at the start`: before PlayStarted;
   * - `at the end`: when the speech is over and the line still open;
   * - `late`: 3.5 s after its last word.
   */
  readonly when: 'at the start' | 'mid-message' | 'soon after' | 'at the end' | 'late';
  /** During which speech of the call, from 0; the first if it is not given. */
  readonly speech?: number;
  /** The event follows at once; or when the call is over; or ContinuousDtmfRecognitionToneFailed is all that follows. */
  readonly reported?: 'after the call' | 'not understood';
}

/** What a number makes of its call. What is not given goes as it should. */
interface Course {
  /** Nobody is reached: CreateCallFailed with this result, and CallDisconnected at the same time. */
  readonly unreachable?: Result;
  /** The first calls to the number reach nobody: CreateCallFailed with these results, one a call. Later calls go as the rest says. */
  readonly firstCalls?: readonly Result[];
  /** It rings so many times as long as usual. */
  readonly ringing?: number;
  /** PlayFailed with this result in place of PlayCompleted. */
  readonly playFails?: Result;
  /**
   * When the callee hangs up: as soon as they have answered, in the middle of the message, when three quarters of it are spoken, or when a
   * request to speak was not carried out.
   */
  readonly calleeHangsUp?: 'before the message' | 'mid-message' | 'late' | 'in the silence';
  /** Keys that are pressed; only a service that listens is told of them. */
  readonly presses?: readonly KeyPress[];
  /** The callee presses no key in so many first calls; none where it is not given. */
  readonly callsWithoutKey?: number;
  /** Where nobody is reached: CallDisconnected arrives before CreateCallFailed. */
  readonly disconnectedFirst?: true;
  /** The events of the callback are posted so many times each. */
  readonly copies?: { readonly CallConnected?: number; readonly all?: number };
  /** Events that never arrive. */
  readonly lost?: readonly CallEventName[];
  /** ParticipantsUpdated before CallConnected, PlayCompleted before PlayStarted, CallConnected again after the end. */
  readonly reordered?: true;
  /** CallConnected is posted before createCall is answered. */
  readonly connectedFirst?: true;
  /** Events of kinds that nobody knows in between. */
  readonly unknownKinds?: true;
  /** What happens to the requests about this call, in their order; after the last one all goes well, unless it says `always`. */
  readonly faults?: { readonly [kind in RequestKind]?: readonly Fault[] } & { readonly always?: true };
}

/** The requests that a scenario may spoil. */
export type RequestKind = 'createCall' | 'play' | 'listen' | 'hangUp';

/** What a number's last two digits make of its call. */
export interface Scenario extends Course {
  readonly digits: string;
  /** A few words, for the log and the README. */
  readonly name: string;
}

const NO_ANSWER: Result = [480, 560_480];
const BUSY: Result = [486, 560_486];
const DECLINED: Result = [487, 10_024];
/** The limit of active calls is reached. */
const NO_LINE: Result = [403, 8_530];
/** The callee declined, or all lines are taken: these codes say both. */
const DECLINED_OR_NO_LINE: Result = [603, 560_603];

const refused = (answer: number, code = 'Simulated'): Fault => ({ answer, code });
const throttled = (retryAfterSeconds: number): Fault => ({ answer: 429, code: 'TooManyRequests', retryAfterSeconds });
const hasEnded = (answer: number, code: string): Fault => ({ answer, code, isCarriedOut: true });
const callsRefusedTwice = (answer: number, code: string): Course => ({
  faults: { createCall: [refused(answer, code), refused(answer, code)] },
});

const IN_THE_MIDDLE = 'mid-message';
const one = (when: KeyPress['when'] = IN_THE_MIDDLE): KeyPress => ({ tone: 'one', when });
const two = (speech = 0): KeyPress => ({ tone: 'two', when: IN_THE_MIDDLE, speech });
const three = (when: KeyPress['when'] = IN_THE_MIDDLE): KeyPress => ({ tone: 'three', when });

const TABLE: readonly (readonly [digits: string, name: string, course: Course])[] = [
  ['01', 'no answer', { unreachable: NO_ANSWER }],
  ['02', 'busy', { unreachable: BUSY }],
  ['03', 'declined', { unreachable: DECLINED }],
  ['04', 'invalid number', { unreachable: [484, 560_484] }],
  ['05', 'blocked as spam', { unreachable: [403, 510_403] }],
  ['06', 'busy, then answered', { firstCalls: [BUSY] }],
  ['07', 'no answer, then answered', { firstCalls: [NO_ANSWER] }],
  ['08', 'busy, no answer, then answered', { firstCalls: [BUSY, NO_ANSWER] }],
  ['09', 'answered after ten times the usual ringing', { ringing: 10 }],

  ['10', 'play fails: speech refused', { playFails: [400, 8_565] }],
  ['11', 'play fails: speech not configured', { playFails: [400, 8_567] }],
  ['12', 'callee hangs up mid-message', { calleeHangsUp: 'mid-message' }],
  ['13', 'play request refused', { faults: { play: [refused(400, '8535')], always: true } }],
  ['14', 'play request answered 500', { faults: { play: [refused(500)], always: true } }],
  ['15', "play request's answer lost", { faults: { play: ['answer lost'] } }],
  ['16', 'play request never answered', { faults: { play: ['hangs'], always: true } }],
  ['17', 'play request throttled once', { faults: { play: [throttled(1)] } }],
  ['18', 'play request never answered the first time', { faults: { play: ['hangs'] } }],
  ['19', 'callee hangs up before the message', { calleeHangsUp: 'before the message' }],

  ['20', 'CallConnected repeated', { copies: { CallConnected: 3 } }],
  ['21', 'every event repeated', { copies: { all: 2 } }],
  ['22', 'events reordered', { reordered: true }],
  ['23', "CallConnected before the call request's answer", { connectedFirst: true }],
  ['24', 'PlayCompleted lost', { lost: ['PlayCompleted'] }],
  ['25', 'CallConnected lost', { lost: ['CallConnected'] }],
  ['26', 'unknown event kinds', { unknownKinds: true }],
  ['27', 'PlayStarted lost', { lost: ['PlayStarted'] }],
  ['28', 'PlayStarted and PlayCompleted lost', { lost: ['PlayStarted', 'PlayCompleted'] }],
  [
    '29',
    'no answer, and all events about it are lost',
    { unreachable: NO_ANSWER, lost: ['CreateCallFailed', 'CallDisconnected'] },
  ],

  ['30', 'call request throttled once, with Retry-After', { faults: { createCall: [throttled(1)] } }],
  ['31', 'call request throttled for ever', { faults: { createCall: [throttled(600)], always: true } }],
  ['32', 'call request never answered the first time', { faults: { createCall: ['hangs'] } }],
  ['33', 'call request never answered', { faults: { createCall: ['hangs'], always: true } }],
  ['34', "call request's answer lost", { faults: { createCall: ['answer lost'] } }],
  ['35', 'call request answered 500 twice', { faults: { createCall: [refused(500), refused(500)] } }],
  [
    '36',
    'call request refused: invalid number, 400/560484',
    { faults: { createCall: [refused(400, '560484')], always: true } },
  ],
  ['37', 'call request refused once: no line, 403/8530', { faults: { createCall: [refused(403, '8530')] } }],
  ['38', "call request's answers all lost, and it rings", { faults: { createCall: ['answer lost'], always: true } }],
  ['39', 'call request answered, then CreateCallFailed 8530 once', { firstCalls: [NO_LINE] }],

  ['40', "hang-up request's answer lost", { faults: { hangUp: ['answer lost'] } }],
  ['41', 'hang-up request answered 503 once', { faults: { hangUp: [refused(503)] } }],
  ['42', 'hang-up request never answered the first time', { faults: { hangUp: ['hangs'] } }],
  [
    '43',
    'play request never answered, and the callee hangs up in the silence',
    { calleeHangsUp: 'in the silence', faults: { play: ['hangs'], always: true } },
  ],
  [
    '44',
    'callee hangs up mid-message, and the events about it are lost',
    { calleeHangsUp: 'mid-message', lost: ['PlayCanceled', 'CallDisconnected'] },
  ],
  ['45', 'declined or no line, 603/560603', { unreachable: DECLINED_OR_NO_LINE }],
  ['46', 'declined or no line once, then answered', { firstCalls: [DECLINED_OR_NO_LINE] }],
  ['47', 'declined, and CallDisconnected comes first', { unreachable: DECLINED, disconnectedFirst: true }],
  ['48', 'no answer, and only CallDisconnected arrives', { unreachable: NO_ANSWER, lost: ['CreateCallFailed'] }],
  ['49', 'no answer: cancelled on timeout, 487/10004', { unreachable: [487, 10_004] }],

  ['50', 'call request refused twice: permission, 403/7504', callsRefusedTwice(403, '7504')],
  ['51', 'call request refused twice: credential, 401', callsRefusedTwice(401, 'Denied')],
  ['52', 'call request refused twice: resource, 404', callsRefusedTwice(404, 'NotFound')],
  ['53', "call request refused twice: the month's limit, 403/8529", callsRefusedTwice(403, '8529')],
  ['54', 'set-up wrong once, CreateCallFailed 403/10105', { firstCalls: [[403, 10_105]] }],
  ['55', 'play request refused once, 400/8585', { faults: { play: [refused(400, '8585')] } }],
  ['56', 'play request refused once, 400/8500', { faults: { play: [refused(400, '8500')] } }],
  [
    '57',
    'callee hangs up mid-message, and PlayStarted is lost',
    { calleeHangsUp: 'mid-message', lost: ['PlayStarted'] },
  ],
  ['58', 'callee hangs up after three quarters of the message', { calleeHangsUp: 'late' }],

  ['60', 'hang-up request answered 410: it has ended', { faults: { hangUp: [hasEnded(410, 'Gone')] } }],
  ['61', 'hang-up request answered 400/8528: it has ended', { faults: { hangUp: [hasEnded(400, '8528')] } }],
  ['62', 'hang-up request answered 400/8501: it has ended', { faults: { hangUp: [hasEnded(400, '8501')] } }],
  ['63', 'hang-up request answered 400/8585: it has ended', { faults: { hangUp: [hasEnded(400, '8585')] } }],

  ['70', 'presses 1 in the middle of the message', { presses: [one()] }],
  ['71', 'presses 1 when the message is over', { presses: [one('at the end')] }],
  ['72', 'presses 1 twice', { presses: [one(), one('soon after')] }],
  ['73', 'presses 1 before PlayStarted', { presses: [one('at the start')] }],
  ['74', 'presses no key in the first call, and 1 in the next', { presses: [one()], callsWithoutKey: 1 }],
  ['75', 'mailbox: listens to the end, and no key is pressed', {}],
  ['76', 'presses 1, and the event is lost', { presses: [one()], lost: ['ContinuousDtmfRecognitionToneReceived'] }],
  [
    '77',
    'presses 1, and the event arrives after the end of the call',
    { presses: [{ ...one(), reported: 'after the call' }] },
  ],
  ['78', 'presses a key that is not understood: ToneFailed', { presses: [{ ...one(), reported: 'not understood' }] }],
  ['79', 'presses 1, and hangs up at once', { presses: [one()], calleeHangsUp: 'mid-message' }],
  ['80', 'start of listening refused', { presses: [one()], faults: { listen: [refused(400, '8500')], always: true } }],
  ['81', 'start of listening never answered', { presses: [one()], faults: { listen: ['hangs'], always: true } }],
  ['82', "start of listening's answer lost, and 1", { presses: [one()], faults: { listen: ['answer lost'] } }],
  ['83', 'presses 1 late: 3.5 s after the last word', { presses: [one('late')] }],
  ['84', 'presses 2, then 1', { presses: [two(), { ...one(), speech: 1 }] }],
  ['85', 'presses 3: cannot go', { presses: [three()] }],
  ['86', 'presses 9, which says nothing', { presses: [{ tone: 'nine', when: IN_THE_MIDDLE }] }],
  ['87', 'presses 1 and 3', { presses: [one(), three('soon after')] }],
  ['88', 'presses 3 and 1', { presses: [three(), one('soon after')] }],
  ['89', 'presses two keys at once: 2 and 1', { presses: [two(), one()] }],
  [
    '91',
    'presses 3 and 1, which is reported after the call',
    { presses: [three(), { ...one(), reported: 'after the call' }] },
  ],
  ['92', 'presses 2 in each speech, three times', { presses: [two(), two(1), two(2)] }],
  [
    '93',
    'presses 2, then 1, and every event is repeated',
    { presses: [two(), { ...one(), speech: 1 }], copies: { all: 2 } },
  ],
  [
    '94',
    'presses 1, and the request to say goodbye is refused',
    { presses: [one()], faults: { play: ['none', refused(400, '8535')] } },
  ],
];

/** Every scenario. A number that ends otherwise is answered, and all goes well. */
export const SCENARIOS: readonly Scenario[] = TABLE.map(([digits, name, course]) =>
  Object.assign({ digits, name }, course),
);

const ANSWERED: Scenario = { digits: '00', name: 'answered' };

/**
 * The scenario of a number.
 *
 * @example scenarioOf('+12065550102').name // 'busy'
 */
export const scenarioOf = (number: string): Scenario =>
  SCENARIOS.find((scenario) => number.endsWith(scenario.digits)) ?? ANSWERED;
