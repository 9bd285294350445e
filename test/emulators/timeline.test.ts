import { expect, it, onTestFinished, vi } from 'vitest';

import { Timeline } from '../../infra/emulators/timeline.ts';

/** The process is busy, and no timer fires. */
const busy = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

it('steps happen in the order of their times, and not before, even if the process was busy when they were due', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
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
