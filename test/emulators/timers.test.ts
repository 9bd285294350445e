import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { scheduleOf, TimerListener, timerTriggers } from '../../infra/emulators/functions-host/timers.ts';

it.each([
  ['0 5-50/20 * * * *', '2026-11-21T10:25:00', '2026-11-21T10:45:00'],
  // Both must match: a first of a month that is a Monday.
  ['0 0 0 1 * Mon', '2027-02-01T00:00:00', '2027-03-01T00:00:00'],
])('%s occurs in UTC as NCRONTAB says', (text, first, second) => {
  const occurrences = scheduleOf(text).nextRuns(2, new Date('2026-11-21T10:20:30.500Z'));
  expect(occurrences.map((each) => each.toISOString())).toEqual([`${first}.000Z`, `${second}.000Z`]);
});

it.each(['* * * * *', '60 * * * * *'])('the function with the schedule %s is named in the error', (schedule) => {
  const timer = { type: 'timerTrigger', direction: 'in', schedule };
  expect(() => timerTriggers([{ name: 'Sweep', bindings: { timer }, callback: vi.fn() }])).toThrow(/^Sweep: /);
});

/** A listener for every ten seconds whose runs take `seconds`, in virtual time; when its runs began and ended, in seconds. */
const listening = (seconds: number) => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T00:00:05Z') });
  onTestFinished(() => void vi.useRealTimers());
  const start = Date.now();
  const story: string[] = [];
  const tell = (what: string): void => void story.push(`${what} ${Math.round((Date.now() - start) / 1_000)}`);
  const registered = { name: 'Sweep', bindings: {}, callback: () => undefined };
  const schedule = scheduleOf('*/10 * * * * *');
  const listener = new TimerListener({ registered, bindingName: 't', schedule }, async () => {
    tell('begins');
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    tell('ends');
  });
  return { listener, story };
};

describe('a timer function', () => {
  it('runs when it is due, one at a time: occurrences that pass during a run are passed over', async () => {
    const { listener, story } = listening(25);
    listener.start();
    await vi.advanceTimersByTimeAsync(56_000);
    expect(story).toEqual(['begins 5', 'ends 30', 'begins 35']);
  });

  it('runs at once when it is asked for, beside another run; stopping waits for both and starts no other', async () => {
    const { listener, story } = listening(3);
    listener.start();
    await vi.advanceTimersByTimeAsync(6_000);
    void listener.runNow();
    let hasStopped = false;
    const stopped = listener.stop().then(() => (hasStopped = true));
    await vi.advanceTimersByTimeAsync(2_500);
    expect(hasStopped).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    await stopped;
    expect(story).toEqual(['begins 5', 'begins 6', 'ends 8', 'ends 9']);
  });
});
