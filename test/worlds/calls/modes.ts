import { type Destination, DESTINATIONS } from '../../../src/calls/model/outcomes.ts';
import type { PhoneRules } from '../../../src/calls/phone.ts';
import { type Fates, PEOPLE, PEOPLE_WHO_PRESS } from './callees.ts';

/** Which faults there are, and by which rules people are called. Faults are probabilities if nothing else is said. */
export interface Mode extends Omit<PhoneRules, 'allowedPrefixes' | 'retentionMs'> {
  readonly name: string;
  /** That a request to storage, or its answer, is lost, or is answered 503. */
  readonly tableFaults: number;
  /** That a request to the provider is lost, loses its answer or is rejected. */
  readonly providerFaults: number;
  readonly eventLoss: number;
  readonly eventRepeat: number;
  /** That an event arrives seconds late, after later ones. */
  readonly eventDelay: number;
  /** That a process ends at a request to storage or to the provider. Another process starts soon after. */
  readonly deathsAtRequests: number;
  /** That a process is suspended around a request, for 1 to 90 s: its timers and answers wait. */
  readonly suspensions: number;
  /** How many times a process is told to end. */
  readonly closings: number;
  /** How late a write is carried out at most whose client has given up, in milliseconds. */
  readonly mostLateMs: number;
  /** How far the clocks of processes are off, either way, in milliseconds. */
  readonly clocksMs: number;
  /** The row of one notification cannot be written, or cannot be read. */
  readonly poison?: 'write' | 'read' | undefined;
  /** How many times storage cannot be used, for up to 40 s. */
  readonly outages: number;
  /** How many times our credential is wrong, for up to four minutes. */
  readonly setUpFaults: number;
  /** Where outcomes are published. */
  readonly destinations: readonly Destination[];
  /** That a destination does not take a batch, or its answer is lost. */
  readonly topicFaults: number;
  /** That a request asks for keys, and then that it has waves. */
  readonly confirms: number;
  /** That a notification is stopped. */
  readonly stops: number;
  /** How a request for a call is answered while all lines are taken. */
  readonly whenLinesAreTaken: '429' | '8530' | '603';
  readonly fates: Fates;
  /** How long a phone rings before an answer, in milliseconds. By default, some callees answer at once. */
  readonly answersWithinMs?: readonly [number, number] | undefined;
  /** How long a request to storage, and its answer, is under way at most, in milliseconds. */
  readonly tableLatencyMs: number;
  readonly lines: number;
  /** How many calls an account of Twilio starts a second. */
  readonly callsPerSecond: number;
  /** The timer function stopped with a deployment. */
  readonly timerNeverRuns?: boolean;
  readonly instances: number;
  readonly mostRecipients: number;
  /** The last two digits of the callees, which choose what they do at the simulator. By default, numbers say nothing. */
  readonly endings?: readonly string[];
  /** The same people are in all requests. */
  readonly areShared?: boolean;
}

const NO_FAULTS = {
  tableFaults: 0,
  providerFaults: 0,
  deathsAtRequests: 0,
  suspensions: 0,
  eventLoss: 0,
  topicFaults: 0,
  poison: undefined,
};

/** Nothing goes wrong, and nothing comes late or twice. */
export const CALM = { ...NO_FAULTS, eventRepeat: 0, eventDelay: 0 };

/** No faults, two lines, one instance. */
export const QUIET: Mode = {
  ...CALM,
  name: 'quiet',
  closings: 0,
  mostLateMs: 7_000,
  clocksMs: 1_000,
  outages: 0,
  setUpFaults: 0,
  destinations: DESTINATIONS,
  confirms: 0,
  stops: 0,
  whenLinesAreTaken: '429',
  fates: [],
  tableLatencyMs: 20,
  lines: 2,
  callsPerSecond: 2,
  instances: 1,
  attempts: 3,
  retryMs: 30_000,
  deadlineMs: 600_000,
  ringMs: 60_000,
  callsPerDay: 1_000,
  callsAtOnce: 2,
  mostRecipients: 6,
};

// The network has more lines than the service uses: it does not hide a call too many.
const LATE = { ...QUIET, fates: PEOPLE, instances: 3, eventRepeat: 0.2, eventDelay: 0.1, lines: 60 };
const USUAL = { ...LATE, providerFaults: 0.1, deathsAtRequests: 0.01, closings: 2, topicFaults: 0.2 };
const KEYS = { confirms: 0.9, fates: PEOPLE_WHO_PRESS };
const BUSY = { areShared: true, instances: 4, callsAtOnce: 3, mostRecipients: 10 };
const WAVES = { ...KEYS, confirms: 0.7, stops: 0.2 };

/** Callees of the simulated account, by the last two digits of their numbers. None of them loses events. */
const ENDINGS = '00 00 00 01 02 03 04 05 06 07 08 12 19 21 22 30 36 45 46 49 58'.split(' ');
const ENDINGS_OF_KEYS = '70 71 72 73 74 77 79 83 84 85 86 87 88 91 92'.split(' ');
const TWILIO = { ...LATE, callsPerSecond: 10, endings: ENDINGS, eventDelay: 0.3 };
const TWILIO_FAULTS = {
  ...TWILIO,
  endings: [...ENDINGS, '32', '33', '34', '40', '60'],
  providerFaults: 0.1,
  eventLoss: 0.05,
};

/** The modes that every seed is played in. */
export const MODES: readonly Mode[] = [
  { ...USUAL, name: 'faults of the provider, deaths, repeated and late events' },
  { ...LATE, name: 'repeated and late events only' },
  { ...LATE, name: 'keys, waves and stops', ...WAVES },
  { ...USUAL, name: 'keys, waves, stops and deaths', ...WAVES, deathsAtRequests: 0.02 },
  { ...LATE, name: 'keys and storage faults', ...KEYS, tableFaults: 0.05 },
  { ...USUAL, name: 'keys and storage outages', ...KEYS, outages: 3, deathsAtRequests: 0 },
  { ...LATE, name: 'many people', mostRecipients: 20, fates: [] },
  { ...USUAL, name: 'storage faults too', tableFaults: 0.05 },
  { ...USUAL, name: 'storage outages', outages: 2 },
  { ...LATE, name: 'wrong clocks', clocksMs: 120_000 },
  { ...USUAL, name: 'suspended processes', suspensions: 0.01 },
  { ...USUAL, name: 'suspended processes, and late writes', suspensions: 0.01, tableFaults: 0.05, mostLateMs: 60_000 },
  { ...LATE, name: 'a row that cannot be written', poison: 'write', callsAtOnce: 20 },
  { ...LATE, name: 'a row that cannot be read', poison: 'read', callsAtOnce: 20, confirms: 0.3 },
  { ...USUAL, name: 'lost events', eventLoss: 0.15 },
  {
    ...USUAL,
    name: 'every fault',
    tableFaults: 0.03,
    outages: 1,
    setUpFaults: 1,
    eventLoss: 0.1,
    deathsAtRequests: 0.02,
    suspensions: 0.005,
    clocksMs: 120_000,
    confirms: 0.4,
    stops: 0.1,
    fates: PEOPLE_WHO_PRESS,
  },
  {
    ...LATE,
    name: 'more calls than lines, which are 603',
    callsAtOnce: 4,
    lines: 2,
    whenLinesAreTaken: '603',
    mostRecipients: 10,
  },
  { ...USUAL, name: 'more calls than lines, which are 8530', callsAtOnce: 4, lines: 2, whenLinesAreTaken: '8530' },
  { ...USUAL, name: 'more calls than lines, which are 429', callsAtOnce: 4, lines: 2 },
  { ...USUAL, name: 'the same people, and lost answers', ...BUSY, tableFaults: 0.2, providerFaults: 0 },
  {
    ...USUAL,
    name: 'the same people, and hang-ups that fail',
    ...BUSY,
    callsAtOnce: 1,
    providerFaults: 0.3,
    fates: [],
  },
  { ...USUAL, name: 'the timer function never runs', timerNeverRuns: true },
  { ...LATE, name: 'our set-up is wrong', setUpFaults: 2 },
  { ...USUAL, name: 'one attempt, one minute', attempts: 1, retryMs: 5_000, deadlineMs: 60_000 },
  { ...USUAL, name: 'ten attempts', attempts: 10, retryMs: 5_000 },
  { ...TWILIO, name: 'Twilio, and reports in any order' },
  { ...TWILIO, name: 'Twilio with keys', ...KEYS, endings: [...ENDINGS, ...ENDINGS_OF_KEYS], fates: [] },
  { ...TWILIO_FAULTS, name: 'Twilio with faults, deaths and suspensions', deathsAtRequests: 0.01, suspensions: 0.01 },
  { ...TWILIO_FAULTS, name: 'Twilio with storage faults and outages', tableFaults: 0.05, outages: 1, confirms: 0.4 },
];
