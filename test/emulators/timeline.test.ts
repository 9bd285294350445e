import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { Timeline } from '../../infra/emulators/timeline.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

/** The process is busy, and no timer fires. */
const busy = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

it('steps happen in the order of their times, even if the process was busy when they were due', () => {
  const timeline = new Timeline();
  const happened: number[] = [];
  const times = Array.from({ length: 60 }, (_, index) => (index * 37) % 60);
  for (const ms of times) {
    timeline.after(ms, () => {
      happened.push(ms);
      if (ms % 20 === 0) busy(15);
    });
  }
  vi.advanceTimersByTime(30);
  busy(200);
  vi.advanceTimersByTime(200);
  expect(happened).toEqual(times.toSorted((one, other) => one - other));
});

it('no step happens before its time or after it was canceled; a step of a step is timed from then', () => {
  const timeline = new Timeline();
  const happened: string[] = [];
  const step = (name: string) => () => void happened.push(`${name} ${Date.now() - begin}`);
  const begin = Date.now();
  timeline.after(10, () => {
    step('first')();
    timeline.clear();
    timeline.after(10, step('second'));
  });
  timeline.after(15, step('canceled'));
  vi.advanceTimersByTime(100);
  expect(happened).toEqual(['first 10', 'second 20']);
});
