import { DAY } from '../../analytics/oracle.ts';
import type { Chance } from '../chance.ts';
import { FAIR, type Weather } from '../unreliable-table.ts';

const HOUR_MS = 3_600_000;

/** When a history begins, in milliseconds since 1970. */
export const BEGINNING = Date.parse('2026-11-22T10:00:00Z');
/** The first microsecond of a day that is not over, and of a day that is old enough to be closed. */
export const TODAY = BigInt(Date.parse('2026-11-22T00:00:00Z')) * 1_000n;
export const OLD_DAY = TODAY - 2n * DAY;

/** How late a transaction may be carried out that got no answer. */
export const MAX_LATE_MS = 6 * HOUR_MS;

/** An action of a user, an operator or a timer. */
export type Action = 'record' | 'ask' | 'export' | 'audit' | 'rebuild' | 'back up' | 'close' | 'restore';

const BAD = {
  lostRequest: 0.03,
  lostAnswer: 0.05,
  refused: 0.04,
  hung: 0.01,
  shortPage: 0.1,
  vagueConflict: 0.1,
  slow: 0.05,
} as const satisfies Weather;

const drawWeather = (chance: Chance): Weather => {
  if (chance.happens(0.35)) return { slow: 0.05 };
  const strength = chance.between(0.3, 2);
  const weather = Object.entries(BAD).map(([name, most]) => [name, chance.happens(0.3) ? 0 : most * strength]);
  return { ...BAD, ...Object.fromEntries(weather), ...(chance.happens(0.5) && { mostLateMs: MAX_LATE_MS }) };
};

/** Anything that happens on a day that is not over. */
const anyForm = (chance: Chance) => {
  const isLarge = chance.happens(0.02);
  return {
    /** The first microseconds of the days that events are of. */
    days: chance.happens(0.2) ? [TODAY, TODAY + DAY] : [TODAY],
    frames: isLarge ? chance.wholeBetween(20, 60) : chance.wholeBetween(1, 7),
    instances: chance.wholeBetween(1, 4),
    /** In each burst, each of the users takes some actions, one after the other. */
    bursts: chance.wholeBetween(1, 3),
    users: chance.wholeBetween(2, 8),
    actionsOfEach: chance.wholeBetween(1, 5),
    /** The longest pause of a user, and the time from the beginning of a burst to the next, in milliseconds. */
    pauseMs: chance.oneOf([0, 20, 100]),
    gapsMs: chance.oneOf([[0], [100], [60_000]]),
    /** An action is drawn from this list. */
    actions: [
      ...(['record', 'record', 'record', 'ask', 'ask', 'ask', 'ask'] as const),
      ...(chance.happens(0.4) ? (['export'] as const) : []),
      ...(chance.happens(0.3) ? (['rebuild', 'audit'] as const) : []),
    ] as readonly Action[],
    messagesOfEach: isLarge ? 40 : chance.oneOf([1, 1, 2, 4]),
    /** How long a request of an instance to storage is under way at most, in milliseconds: each instance has one of these. */
    latenciesMs: chance.oneOf([[5], [20], [5, 20, 100]]),
    weather: drawWeather(chance),
    /** That a process dies in an action. */
    mortality: chance.happens(0.4) ? 0.05 : 0,
    /** That a process is suspended in an action, and for how long at most, in milliseconds. */
    suspension: chance.happens(0.3) ? 0.1 : 0,
    suspendedMs: 10_000,
    /** Whether counter rows of a day are damaged before it is rebuilt. */
    damages: chance.happens(0.5),
    /** Whether a day is backed up before it is closed. */
    backsUp: chance.happens(0.7),
    /** How much the clocks of processes are off at most, in milliseconds. */
    clocksOffMs: chance.oneOf([1_000, 25 * 60_000, 72 * HOUR_MS]),
    shards: chance.happens(0.7) ? 1 : chance.oneOf([2, 3, 8]),
  };
};

/** The subject of a seed. */
export type Form = ReturnType<typeof anyForm>;

/** Several write about the same few events, and others ask about them all the time. */
const busy = (chance: Chance): Partial<Form> => ({
  instances: chance.wholeBetween(2, 4),
  frames: chance.wholeBetween(1, 3),
  bursts: 2,
  users: 6,
  actionsOfEach: chance.wholeBetween(5, 10),
  actions: ['record', 'ask'],
  messagesOfEach: 1,
  pauseMs: chance.oneOf([0, 0, 10]),
  latenciesMs: chance.oneOf([
    [3, 5],
    [3, 3, 30],
    [3, 3, 100],
  ]),
  weather: {
    shortPage: chance.oneOf([0, 0.3, 0.7]),
    lostAnswer: chance.oneOf([0, 0, 0.1]),
    slow: chance.oneOf([0, 0.1]),
  },
  shards: 1,
});

/** An old day is closed, and rebuilt, and restored, while processes are suspended for hours. */
const sealing = (chance: Chance): Partial<Form> => ({
  days: chance.oneOf([[OLD_DAY], [OLD_DAY, TODAY]]),
  bursts: chance.wholeBetween(3, 8),
  users: chance.wholeBetween(3, 8),
  actionsOfEach: chance.wholeBetween(1, 3),
  latenciesMs: [20],
  gapsMs: [1_000, 2.2 * HOUR_MS, 3.5 * HOUR_MS],
  actions: [
    ...(['record', 'ask', 'export', 'restore', 'back up', 'close', 'close', 'close'] as const),
    ...(chance.happens(0.5) ? (['rebuild', 'audit'] as const) : []),
  ],
  weather: chance.oneOf([FAIR, { shortPage: 0.3, hung: 0.1 }, drawWeather(chance)]),
  suspension: chance.oneOf([0.1, 0.3, 0.5]),
  suspendedMs: chance.oneOf([10_000, 6 * HOUR_MS, 6 * HOUR_MS]),
});

/** Draws what a seed is about. */
export const drawForm = (chance: Chance): Form => ({
  ...anyForm(chance),
  ...chance.byProbability([
    [0.3, busy(chance)],
    [0.4, sealing(chance)],
  ]),
});
