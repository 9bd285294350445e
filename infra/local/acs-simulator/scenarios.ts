/** What may happen to a request instead of being carried out and answered. */
export type Fault =
  /** Answered with this status and error code, and not carried out, unless it says so: the call has just ended by itself then. */
  | {
      readonly answer: number;
      readonly code?: string;
      readonly retryAfterSeconds?: number;
      readonly isCarriedOut?: true;
    }
  /** Not carried out and never answered. */
  | 'hangs'
  /** Carried out, but the answer is lost: the connection breaks. */
  | 'answer lost';

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

/** When a callee presses a key. The event follows at once, but for the last two. */
export type KeyPress =
  /** Before PlayStarted. */
  | 'at the start'
  | 'mid-message'
  /** When the message is over and the line still open. */
  | 'at the end'
  | 'twice'
  /** In the middle, and the event arrives when the call is over. */
  | 'reported late'
  /** In the middle, and ContinuousDtmfRecognitionToneFailed is all that arrives. */
  | 'not understood';

/** What a number's last two digits make of its call. What is not given goes as it should. */
export interface Scenario {
  readonly digits: string;
  /** A few words, for the log and the README. */
  readonly name: string;
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
  /** A key that is pressed; only a service that listens is told of it. */
  readonly presses?: KeyPress;
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
  readonly faults?: {
    readonly call?: readonly Fault[];
    readonly play?: readonly Fault[];
    readonly listen?: readonly Fault[];
    readonly hangUp?: readonly Fault[];
    readonly always?: true;
  };
}

const NO_ANSWER: Result = [480, 560_480];
const BUSY: Result = [486, 560_486];
const DECLINED: Result = [487, 10_024];
/** The limit of active calls is reached. */
export const NO_LINE: Result = [403, 8_530];
/** The callee declined, or all lines are taken: these codes say both. */
export const DECLINED_OR_NO_LINE: Result = [603, 560_603];

const throttled: Fault = { answer: 429, code: 'TooManyRequests', retryAfterSeconds: 1 };

const twice = (fault: Fault): NonNullable<Scenario['faults']> => ({ call: [fault, fault] });
const hasEnded = (answer: number, code: string): NonNullable<Scenario['faults']> => ({
  hangUp: [{ answer, code, isCarriedOut: true }],
});

/** Every scenario. A number that ends otherwise is answered, and all goes well. */
export const SCENARIOS: readonly Scenario[] = [
  { digits: '01', name: 'no answer', unreachable: NO_ANSWER },
  { digits: '02', name: 'busy', unreachable: BUSY },
  { digits: '03', name: 'declined', unreachable: DECLINED },
  { digits: '04', name: 'invalid number', unreachable: [484, 560_484] },
  { digits: '05', name: 'blocked as spam', unreachable: [403, 510_403] },
  { digits: '06', name: 'busy, then answered', firstCalls: [BUSY] },
  { digits: '07', name: 'no answer, then answered', firstCalls: [NO_ANSWER] },
  { digits: '08', name: 'busy, no answer, then answered', firstCalls: [BUSY, NO_ANSWER] },
  { digits: '09', name: 'answered after ten times the usual ringing', ringing: 10 },

  { digits: '10', name: 'play fails: speech refused', playFails: [400, 8_565] },
  { digits: '11', name: 'play fails: speech not configured', playFails: [400, 8_567] },
  { digits: '12', name: 'callee hangs up mid-message', calleeHangsUp: 'mid-message' },
  { digits: '13', name: 'play request refused', faults: { play: [{ answer: 400, code: '8535' }], always: true } },
  { digits: '14', name: 'play request answered 500', faults: { play: [{ answer: 500 }], always: true } },
  { digits: '15', name: "play request's answer lost", faults: { play: ['answer lost'] } },
  { digits: '16', name: 'play request never answered', faults: { play: ['hangs'], always: true } },
  { digits: '17', name: 'play request throttled once', faults: { play: [throttled] } },
  { digits: '18', name: 'play request never answered the first time', faults: { play: ['hangs'] } },
  { digits: '19', name: 'callee hangs up before the message', calleeHangsUp: 'before the message' },

  { digits: '20', name: 'CallConnected repeated', copies: { CallConnected: 3 } },
  { digits: '21', name: 'every event repeated', copies: { all: 2 } },
  { digits: '22', name: 'events reordered', reordered: true },
  { digits: '23', name: "CallConnected before the call request's answer", connectedFirst: true },
  { digits: '24', name: 'PlayCompleted lost', lost: ['PlayCompleted'] },
  { digits: '25', name: 'CallConnected lost', lost: ['CallConnected'] },
  { digits: '26', name: 'unknown event kinds', unknownKinds: true },
  { digits: '27', name: 'PlayStarted lost', lost: ['PlayStarted'] },
  { digits: '28', name: 'PlayStarted and PlayCompleted lost', lost: ['PlayStarted', 'PlayCompleted'] },
  {
    digits: '29',
    name: 'no answer, and all events about it are lost',
    unreachable: NO_ANSWER,
    lost: ['CreateCallFailed', 'CallDisconnected'],
  },

  { digits: '30', name: 'call request throttled once, with Retry-After', faults: { call: [throttled] } },
  {
    digits: '31',
    name: 'call request throttled for ever',
    faults: { call: [{ ...throttled, retryAfterSeconds: 600 }], always: true },
  },
  { digits: '32', name: 'call request never answered the first time', faults: { call: ['hangs'] } },
  { digits: '33', name: 'call request never answered', faults: { call: ['hangs'], always: true } },
  { digits: '34', name: "call request's answer lost", faults: { call: ['answer lost'] } },
  { digits: '35', name: 'call request answered 500 twice', faults: { call: [{ answer: 500 }, { answer: 500 }] } },
  { digits: '36', name: 'call request refused', faults: { call: [{ answer: 400, code: '8519' }], always: true } },
  {
    digits: '37',
    name: 'call request refused once: no line, 403/8530',
    faults: { call: [{ answer: 403, code: '8530' }] },
  },
  {
    digits: '38',
    name: "call request's answers all lost, and it rings",
    faults: { call: ['answer lost'], always: true },
  },
  { digits: '39', name: 'call request answered, then CreateCallFailed 8530 once', firstCalls: [NO_LINE] },

  { digits: '40', name: "hang-up request's answer lost", faults: { hangUp: ['answer lost'] } },
  { digits: '41', name: 'hang-up request answered 503 once', faults: { hangUp: [{ answer: 503 }] } },
  { digits: '42', name: 'hang-up request never answered the first time', faults: { hangUp: ['hangs'] } },
  {
    digits: '43',
    name: 'play request never answered, and the callee hangs up in the silence',
    calleeHangsUp: 'in the silence',
    faults: { play: ['hangs'], always: true },
  },
  {
    digits: '44',
    name: 'callee hangs up mid-message, and the events about it are lost',
    calleeHangsUp: 'mid-message',
    lost: ['PlayCanceled', 'CallDisconnected'],
  },
  { digits: '45', name: 'declined or no line, 603/560603', unreachable: DECLINED_OR_NO_LINE },
  { digits: '46', name: 'declined or no line once, then answered', firstCalls: [DECLINED_OR_NO_LINE] },
  { digits: '47', name: 'declined, and CallDisconnected comes first', unreachable: DECLINED, disconnectedFirst: true },
  {
    digits: '48',
    name: 'no answer, and only CallDisconnected arrives',
    unreachable: NO_ANSWER,
    lost: ['CreateCallFailed'],
  },
  { digits: '49', name: 'no answer: cancelled on timeout, 487/10004', unreachable: [487, 10_004] },

  {
    digits: '50',
    name: 'call request refused twice: permission, 403/7504',
    faults: twice({ answer: 403, code: '7504' }),
  },
  { digits: '51', name: 'call request refused twice: credential, 401', faults: twice({ answer: 401, code: 'Denied' }) },
  { digits: '52', name: 'call request refused twice: resource, 404', faults: twice({ answer: 404, code: 'NotFound' }) },
  {
    digits: '53',
    name: "call request refused twice: the month's limit, 403/8529",
    faults: twice({ answer: 403, code: '8529' }),
  },
  { digits: '54', name: 'set-up wrong once, CreateCallFailed 403/10105', firstCalls: [[403, 10_105]] },
  { digits: '55', name: 'play request refused once, 400/8585', faults: { play: [{ answer: 400, code: '8585' }] } },
  { digits: '56', name: 'play request refused once, 400/8500', faults: { play: [{ answer: 400, code: '8500' }] } },
  {
    digits: '57',
    name: 'callee hangs up mid-message, and PlayStarted is lost',
    calleeHangsUp: 'mid-message',
    lost: ['PlayStarted'],
  },
  { digits: '58', name: 'callee hangs up after three quarters of the message', calleeHangsUp: 'late' },

  { digits: '60', name: 'hang-up request answered 410: it has ended', faults: hasEnded(410, 'Gone') },
  { digits: '61', name: 'hang-up request answered 400/8528: it has ended', faults: hasEnded(400, '8528') },
  { digits: '62', name: 'hang-up request answered 400/8501: it has ended', faults: hasEnded(400, '8501') },
  { digits: '63', name: 'hang-up request answered 400/8585: it has ended', faults: hasEnded(400, '8585') },

  { digits: '70', name: 'presses a key in the middle of the message', presses: 'mid-message' },
  { digits: '71', name: 'presses a key when the message is over', presses: 'at the end' },
  { digits: '72', name: 'presses a key twice', presses: 'twice' },
  { digits: '73', name: 'presses a key before PlayStarted', presses: 'at the start' },
  {
    digits: '74',
    name: 'presses no key in the first call, and one in the next',
    presses: 'mid-message',
    callsWithoutKey: 1,
  },
  { digits: '75', name: 'mailbox: listens to the end, and no key is pressed' },
  {
    digits: '76',
    name: 'presses a key, and the event is lost',
    presses: 'mid-message',
    lost: ['ContinuousDtmfRecognitionToneReceived'],
  },
  { digits: '77', name: 'presses a key, and the event arrives after the end of the call', presses: 'reported late' },
  { digits: '78', name: 'presses a key that is not understood: ToneFailed', presses: 'not understood' },
  { digits: '79', name: 'presses a key, and hangs up at once', presses: 'mid-message', calleeHangsUp: 'mid-message' },
  {
    digits: '80',
    name: 'start of listening refused',
    presses: 'mid-message',
    faults: { listen: [{ answer: 400, code: '8500' }], always: true },
  },
  {
    digits: '81',
    name: 'start of listening never answered',
    presses: 'mid-message',
    faults: { listen: ['hangs'], always: true },
  },
  {
    digits: '82',
    name: "start of listening's answer lost, and a key",
    presses: 'mid-message',
    faults: { listen: ['answer lost'] },
  },
];

const ANSWERED: Scenario = { digits: '00', name: 'answered' };

/**
 * The scenario of a number.
 *
 * @example scenarioOf('+12065550102').name // 'busy'
 */
export const scenarioOf = (number: string): Scenario =>
  SCENARIOS.find((scenario) => number.endsWith(scenario.digits)) ?? ANSWERED;
