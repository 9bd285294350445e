import type { Chance } from '../chance.ts';
import { FAIR, type Weather } from '../unreliable-table.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The largest difference between the clocks of two instances. */
const CLOCKS_OFF_MS = 25 * 60_000;

/** When a history begins, in milliseconds since 1970. */
export const BEGINNING = Date.parse('2026-11-22T10:00:00Z');
/** A day that is not over, and a day that is old enough to be closed. */
export const TODAY = BigInt(Date.parse('2026-11-22T00:00:00Z')) * 1_000n;
export const OLD_DAY = TODAY - BigInt(2 * DAY_MS) * 1_000n;

const BAD: Weather = {
  lostRequest: 0.03,
  lostAnswer: 0.05,
  refused: 0.04,
  hung: 0.01,
  shortPage: 0.1,
  vagueConflict: 0.1,
  slow: 0.05,
};

const weatherOf = (chance: Chance): Weather => {
  if (chance.happens(0.35)) return { ...FAIR, slow: 0.05 };
  const strength = chance.between(0.3, 2);
  const each = (probability: number): number => (chance.happens(0.3) ? 0 : probability * strength);
  return {
    lostRequest: each(BAD.lostRequest),
    lostAnswer: each(BAD.lostAnswer),
    refused: each(BAD.refused),
    hung: each(BAD.hung),
    shortPage: each(BAD.shortPage),
    vagueConflict: each(BAD.vagueConflict),
    slow: each(BAD.slow),
  };
};

/** Anything. */
const mixedForm = (chance: Chance) => {
  const closes = chance.happens(0.3);
  const isLarge = chance.happens(0.02);
  const rewrites = chance.happens(0.3) ? chance.oneOf([1, 1, 2]) : 0;
  // Between the announcement and the moment from which a day is closed is an hour.
  const pauseMs = chance.oneOf([0, 20, 100]) + (closes ? chance.oneOf([0, 0.3 * HOUR_MS, 1.5 * HOUR_MS]) : 0);
  return {
    shards: chance.happens(0.7) ? 1 : chance.wholeBetween(2, 3),
    instances: chance.wholeBetween(1, 4),
    senders: chance.wholeBetween(1, 4),
    frames: isLarge ? chance.wholeBetween(20, 60) : chance.wholeBetween(1, 7),
    /** Whether each sender always sends to the same instance. */
    hasOwnInstances: chance.happens(0.3),
    requestsOfEach: chance.wholeBetween(1, 5),
    /** The probability that a message was sent before, and that a message is older than others about its event. */
    repeats: 0.2,
    /** Whether each message says something that is counted. */
    isTelling: false,
    messagesOfEach: isLarge ? 40 : chance.oneOf([1, 1, 2, 4]),
    /** The longest pause of a sender between two requests, and of a reader between two questions, in milliseconds. */
    pauseMs,
    askers: chance.wholeBetween(1, 4),
    /** At most, and as long as messages are sent. */
    questionsOfEach: chance.wholeBetween(1, 3),
    questionsPauseMs: 2 * pauseMs + 50,
    /** How long a request of a writer, and of a reader, to storage is under way at most, in milliseconds. */
    writersLatencyMs: chance.oneOf([5, 20]),
    readersLatencyMs: chance.oneOf([5, 20, 100]),
    weather: weatherOf(chance),
    outages: chance.happens(0.1) ? 1 : 0,
    /** That a process dies at one of its first requests. */
    mortality: chance.happens(0.4) ? 0.4 : 0,
    closes,
    /** How many operators rewrite a day, at about the same time, and whether rows are damaged before. */
    rewrites,
    damages: rewrites > 0 && chance.happens(0.6),
    /** That a process is suspended before it sends a transaction, and for how long at most, in milliseconds. */
    suspensions: rewrites > 0 ? chance.oneOf([0, 0.03, 0.1]) : 0,
    suspendedMs: chance.oneOf([5_000, 300_000]),
    /** How much the clocks of processes are off at most, in milliseconds. */
    clocksOffMs: chance.oneOf([1_000, CLOCKS_OFF_MS]),
    /** Whether some seconds, each in its own hour, have more frames than the samples of a second take. */
    overflows: closes && chance.happens(0.1),
    /** Whether each process has its own number of shards. */
    hasOwnShards: chance.happens(0.3),
    /** Whether the table is deleted in the end, and everything is sent again. */
    isMadeAnew: chance.happens(0.1),
  };
};

/** What a seed is about. */
export type Form = ReturnType<typeof mixedForm>;

/** Several write about the same few events, and others ask about them all the time. */
const busyForm = (chance: Chance): Form => ({
  shards: 1,
  instances: chance.wholeBetween(2, 4),
  senders: chance.wholeBetween(2, 3),
  frames: chance.wholeBetween(1, 3),
  hasOwnInstances: true,
  requestsOfEach: chance.wholeBetween(5, 10),
  messagesOfEach: 1,
  repeats: 0.05,
  isTelling: true,
  pauseMs: chance.oneOf([0, 0, 10]),
  askers: 3,
  questionsOfEach: 9,
  questionsPauseMs: 10,
  writersLatencyMs: chance.oneOf([3, 3, 10]),
  readersLatencyMs: chance.oneOf([5, 30, 100]),
  weather: {
    ...FAIR,
    shortPage: chance.oneOf([0, 0.7]),
    lostAnswer: chance.oneOf([0, 0, 0.1]),
    slow: chance.oneOf([0, 0.1]),
  },
  outages: 0,
  mortality: 0,
  closes: false,
  rewrites: chance.happens(0.2) ? 1 : 0,
  damages: false,
  suspensions: chance.oneOf([0, 0.02]),
  suspendedMs: 1_000,
  clocksOffMs: 1_000,
  overflows: false,
  hasOwnShards: false,
  isMadeAnew: chance.happens(0.1),
});

/** Draws what a seed is about. */
export const drawForm = (chance: Chance): Form => (chance.happens(0.3) ? busyForm(chance) : mixedForm(chance));
