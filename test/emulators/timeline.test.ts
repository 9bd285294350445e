import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { Timeline } from '../../infra/emulators/timeline.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

/** Something keeps the process from its timers. */
const busy = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

it('what is to happen happens in the order of its time, also if the process was busy when it was due', () => {
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

it('nothing happens before its time, and what follows from something is timed from then', () => {
  const timeline = new Timeline();
  const happened: string[] = [];
  timeline.after(100, () => {
    happened.push('first');
    timeline.after(50, () => happened.push('second'));
  });
  vi.advanceTimersByTime(98);
  expect(happened).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(happened).toEqual(['first']);
  vi.advanceTimersByTime(48);
  expect(happened).toEqual(['first']);
  vi.advanceTimersByTime(2);
  expect(happened).toEqual(['first', 'second']);
});

it('what was cleared does not happen; what comes after it does', () => {
  const timeline = new Timeline();
  const happened: string[] = [];
  timeline.after(10, () => {
    happened.push('first');
    timeline.clear();
    timeline.after(10, () => happened.push('after the clearing'));
  });
  timeline.after(15, () => happened.push('cleared'));
  vi.advanceTimersByTime(100);
  expect(happened).toEqual(['first', 'after the clearing']);
});
