import { expect, it } from 'vitest';

import { type Failure, ProviderError } from '../../../src/calls/model/phone-provider.ts';
import { hangUpRepeatedly, SAFE_TO_REPEAT, sendRepeatedly } from '../../../src/calls/providers/repeat.ts';
import { inTime } from './stage.ts';

const REPEATS = { after: SAFE_TO_REPEAT, tryMs: 1_000, tries: 3 };

/** The pauses between the tries of a request with these failures, and how it ended. */
const tried = async (failures: readonly Failure[], waitMs?: number) =>
  inTime(async (time) => {
    const at: number[] = [];
    const send = async (): Promise<string> => {
      const failure = failures[at.length];
      at.push(time.now);
      if (failure !== undefined) throw new ProviderError({ failure, reason: `try ${at.length}`, waitMs });
      return Promise.resolve('done');
    };
    const sent = sendRepeatedly(REPEATS, send).catch((error: Error) => error.message);
    await time.passUntil(sent, 60_000);
    return { pauses: at.slice(1).map((ms, index) => ms - (at[index] ?? 0)), result: await sent };
  });

it.each<[string, readonly Failure[], readonly number[], string, number?]>([
  ['0.2 s follow a failure, and twice that the next', ['unanswered', 'unreachable'], [200, 400], 'done'],
  [
    'a limit of capacity uses up no try, and is followed by a second and more',
    ['capacity', 'capacity', 'unanswered', 'unanswered'],
    [1_000, 2_000, 800, 1_600],
    'done',
  ],
  ['the provider may ask for another pause', ['capacity'], [300], 'done', 300],
  ['no more tries are sent than may fail', ['unanswered', 'unanswered', 'unanswered'], [200, 400], 'try 3'],
  ['no try is sent after the time for all', ['capacity'], [], 'try 1', 15_000],
  ['a pause may end shortly before that', ['capacity'], [14_900], 'done', 14_900],
  ['an unclear answer is the result, for any answer to a later try', ['unanswered', 'set_up'], [200], 'try 1'],
  ['other failures are not repeated', ['refused'], [], 'try 1'],
])('%s', async (_, failures, pauses, result, waitMs) => {
  expect(await tried(failures, waitMs)).toEqual({ pauses, result });
});

it.each([
  ['gives up a try that ignores its signal', { ...REPEATS, tryMs: 4_000, tries: 2 }, 8_200],
  ['ends after 15 s, with its tries and pauses', { ...REPEATS, tryMs: 4_500, tries: 9 }, 15_000],
  ['ends after 15 s, also if one try may take longer', { ...REPEATS, tryMs: 60_000, tries: 1 }, 15_000],
])('a request that is never answered %s', async (_, repeats, ms) => {
  await inTime(async (time) => {
    const sent = sendRepeatedly(repeats, async () => new Promise<never>(() => undefined));
    const failed = sent.catch((error: Error) => [error.message, time.now]);
    expect(await time.passUntil(failed, 60_000)).toBe(true);
    expect(await failed).toEqual(['no answer in time', ms]);
  });
});

it.each<[readonly (Failure | 'done')[], string]>([
  [['done'], 'hung up'],
  [['gone'], 'gone'],
  [['unreachable', 'capacity', 'gone'], 'gone'],
  // The first request may have ended the call, or the callee did before it.
  [['unanswered', 'gone'], 'gone'],
])('a hang-up that is answered %j: %s', async (answers, expected) => {
  await inTime(async (time) => {
    const left = [...answers];
    const hungUp = hangUpRepeatedly(REPEATS, async () => {
      const failure = left.shift() ?? 'done';
      if (failure !== 'done') throw new ProviderError({ failure, reason: failure });
      return Promise.resolve();
    });
    await time.passUntil(hungUp, 60_000);
    expect([await hungUp, left]).toEqual([expected, []]);
  });
});
