import { expect, it, vi } from 'vitest';
import { type Failure, PhoneLineError } from '../../../src/calls/model/phone-line.ts';
import { SAFE_TO_REPEAT, sendRepeatedly } from '../../../src/calls/providers/repeat.ts';

const BOUNDS = { tryMs: 1_000, withinMs: 8_000, tries: 3 };

const judge = (error: unknown): PhoneLineError => {
  if (error instanceof PhoneLineError) return error;
  throw error;
};

/** When the tries of a request were sent, whose failures are given, and how it ended. */
const tried = async (failures: readonly Failure[], waitMs?: number, bounds = BOUNDS) => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const begin = performance.now();
  const at: number[] = [];
  const send = async (): Promise<string> => {
    const failure = failures[at.length];
    at.push(Math.round(performance.now() - begin));
    if (failure !== undefined) throw new PhoneLineError({ failure, reason: `try ${at.length}`, waitMs });
    return Promise.resolve('done');
  };
  const result = await sendRepeatedly(SAFE_TO_REPEAT, bounds, judge, send).catch((error: unknown) =>
    error instanceof PhoneLineError ? error.message : error,
  );
  return { pauses: at.slice(1).map((ms, index) => ms - (at[index] ?? 0)), result };
};

const about = (expected: number) => expect.toSatisfy((ms: number) => ms > expected * 0.9 && ms < expected * 2.5);

it('a failure is followed by a pause of 0.2 s, and by twice that after each other one', async () => {
  const { pauses, result } = await tried(['unanswered', 'unreachable']);
  expect([pauses, result]).toEqual([[about(200), about(400)], 'done']);
});

it('after a limit of capacity the pause is a second and more, or what the line asks for, and no try is used up', async () => {
  const { pauses, result } = await tried(['capacity', 'capacity', 'unanswered', 'unanswered']);
  expect([pauses, result]).toEqual([[about(1_000), about(2_000), about(800), about(1_600)], 'done']);
  expect((await tried(['capacity'], 300)).pauses).toEqual([about(300)]);
});

it('no more tries are sent than may fail, nor after the time for all', async () => {
  expect((await tried(['unanswered', 'unanswered', 'unanswered'])).pauses).toHaveLength(2);
  expect((await tried(['capacity'], 5_000, { ...BOUNDS, withinMs: 4_000 })).pauses).toEqual([]);
});

it('an unclear answer is the result, whatever a later try was answered, unless the call is gone', async () => {
  expect((await tried(['unanswered', 'set_up'])).result).toBe('try 1');
  expect((await tried(['unanswered', 'gone'])).result).toBe('try 2');
  expect((await tried(['refused'])).pauses).toEqual([]);
});
