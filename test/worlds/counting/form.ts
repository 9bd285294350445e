import type { Chance } from '../chance.ts';
import type { Weather } from '../unreliable-table.ts';

const HOUR_MS = 3_600_000;

/** When a history begins, in milliseconds since 1970. */
export const BEGINNING = Date.parse('2026-11-22T10:00:00Z');
/** A day that is not over, and a day that is old enough to be closed: the first microsecond of each. */
export const TODAY = BigInt(Date.parse('2026-11-22T00:00:00Z')) * 1_000n;
export const OLD_DAY = BigInt(Date.parse('2026-11-20T00:00:00Z')) * 1_000n;

const BAD = {
  lostRequest: 0.03,
  lostAnswer: 0.05,
  refused: 0.04,
  hung: 0.01,
  shortPage: 0.1,
  vagueConflict: 0.1,
  slow: 0.05,
};

/** How late a transaction may be carried out that got no answer. */
export const MAX_LATE_MS = 6 * HOUR_MS;

const drawWeather = (chance: Chance): Weather => {
  if (chance.happens(0.35)) return { slow: 0.05 };
  const strength = chance.between(0.3, 2);
  const weather = Object.entries(BAD).map(([name, most]) => [name, chance.happens(0.3) ? 0 : most * strength]);
  const mostLateMs = chance.happens(0.5) ? { mostLateMs: MAX_LATE_MS } : {};
  return { ...BAD, ...Object.fromEntries(weather), ...mostLateMs };
};

/** Anything. */
const mixedForm = (chance: Chance) => {
  const closes = chance.happens(0.3);
  const isLarge = chance.happens(0.02);
  return {
    instances: chance.wholeBetween(1, 4),
    senders: chance.wholeBetween(1, 4),
    frames: isLarge ? chance.wholeBetween(20, 60) : chance.wholeBetween(1, 7),
    requestsOfEach: chance.wholeBetween(1, 5),
    messagesOfEach: isLarge ? 40 : chance.oneOf([1, 1, 2, 4]),
    /**
     * The longest pause of a sender between two requests, and half of a reader's between two questions, in milliseconds. A day that
     * closes was quiet for an hour.
     */
    pauseMs: chance.oneOf([0, 20, 100]) + (closes ? chance.oneOf([0, 0.3 * HOUR_MS, 1.5 * HOUR_MS]) : 0),
    askers: chance.wholeBetween(1, 4),
    /** At most, and as long as messages are sent. */
    questionsOfEach: chance.wholeBetween(1, 3),
    /** How long a request of a writer, and of a reader, to storage is under way at most, in milliseconds. */
    writersLatencyMs: chance.oneOf([5, 20]),
    readersLatencyMs: chance.oneOf([5, 20, 100]),
    weather: drawWeather(chance),
    /** That a process dies at one of its first requests. */
    mortality: chance.happens(0.4) ? 0.4 : 0,
    closes,
    /** How many operators rebuild a day, at about the same time. */
    rebuilds: chance.happens(0.3) ? chance.oneOf([1, 1, 2]) : 0,
    /** Whether counter rows of a day are damaged before it is rebuilt. */
    damages: chance.happens(0.5),
    backsUp: chance.happens(0.7),
    /** How often an operator sends the backups to the running app. */
    restores: chance.oneOf([0, 0, 1, 2]),
    /** Whether operators export days. */
    exports: chance.happens(0.4),
    /** How much the clocks of processes are off at most, in milliseconds. */
    clocksOffMs: chance.oneOf([1_000, 25 * 60_000]),
    shards: chance.happens(0.7) ? 1 : chance.wholeBetween(2, 3),
  };
};

/** The subject of a seed. */
export type Form = ReturnType<typeof mixedForm>;

/** Several write about the same few events, and others ask about them all the time. */
const busyForm = (chance: Chance): Partial<Form> => ({
  instances: chance.wholeBetween(2, 4),
  senders: 3,
  askers: 3,
  frames: chance.wholeBetween(1, 3),
  requestsOfEach: chance.wholeBetween(5, 10),
  messagesOfEach: 1,
  pauseMs: chance.oneOf([0, 0, 10]),
  questionsOfEach: 9,
  writersLatencyMs: 3,
  readersLatencyMs: chance.oneOf([5, 30, 100]),
  weather: {
    shortPage: chance.oneOf([0, 0.3, 0.7]),
    lostAnswer: chance.oneOf([0, 0, 0.1]),
    slow: chance.oneOf([0, 0.1]),
  },
  closes: false,
  shards: 1,
});

/** Draws what a seed is about. */
export const drawForm = (chance: Chance): Form => ({
  ...mixedForm(chance),
  ...(chance.happens(0.3) && busyForm(chance)),
});
