import { expect, it, onTestFinished, vi } from 'vitest';

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

it('a timer function has one scheduled run at a time, and others on request; stopping waits for all', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T00:00:05Z') });
  onTestFinished(() => void vi.useRealTimers());
  const start = Date.now();
  const steps: string[] = [];
  const tell = (what: string): void => void steps.push(`${what} ${Math.round((Date.now() - start) / 1_000)}`);
  const registered = { name: 'Sweep', bindings: {}, callback: () => undefined };
  const schedule = scheduleOf('*/10 * * * * *');
  const listener = new TimerListener({ registered, bindingName: 't', schedule }, async () => {
    tell('begins');
    await new Promise((resolve) => setTimeout(resolve, 25_000));
    tell('ends');
  });
  listener.start();
  await vi.advanceTimersByTimeAsync(36_000);
  void listener.runNow();
  void listener.stop().then(() => tell('stopped'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(steps).toEqual(['begins 5', 'ends 30', 'begins 35', 'begins 36', 'ends 60', 'ends 61', 'stopped 61']);
});
