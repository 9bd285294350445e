import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { systemClock } from '../../../src/calls/model/clock.ts';
import { Alarm } from '../../../src/calls/run/alarm.ts';

const START = Date.parse('2026-11-21T08:00:00Z');

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(() => void vi.useRealTimers());

/** An alarm that sets itself anew each time it rings, and when it has rung, in milliseconds since the start. */
const alarmThatSets = (key: string, at: () => number | undefined) => {
  const alarm = new Alarm(systemClock);
  const rings: number[] = [];
  alarm.onRing(() => {
    rings.push(Date.now() - START);
    alarm.set(key, at());
  });
  return { alarm, rings };
};

it('rings for what is due now, and for what is due later once it is', () => {
  const { alarm, rings } = alarmThatSets('a', () => undefined);
  alarm.set('a', START - 1_000);
  alarm.set('b', START + 5_000);
  expect(alarm.isDue).toBe(true);
  vi.advanceTimersByTime(10_000);
  expect(rings).toEqual([1, 5_000]);
  expect(alarm.isDue).toBe(false);
});

it('rings for what is due all the same every two seconds, however often it is set', () => {
  const { alarm, rings } = alarmThatSets('a', () => START - 1_000);
  alarm.set('a', START - 1_000);
  for (let turn = 0; turn < 50; turn += 1) {
    vi.advanceTimersByTime(100);
    alarm.set('a', START - 1_000);
  }
  expect(rings).toEqual([1, 2_100, 4_100]);
});

it('rings at once for what is due at another time', () => {
  let turn = 0;
  const { alarm, rings } = alarmThatSets('a', () => ((turn += 1) < 4 ? START - turn : undefined));
  alarm.set('a', START);
  vi.advanceTimersByTime(10_000);
  expect(rings).toEqual([1, 2, 3, 4]);
});

it('does not ring for what is cancelled, nor for what is due after more than ten minutes: the timer function finds it', () => {
  const { alarm, rings } = alarmThatSets('a', () => undefined);
  alarm.set('a', START + 1_000);
  alarm.set('a', undefined);
  alarm.set('b', START + 600_001);
  vi.advanceTimersByTime(3_600_000);
  expect(rings).toEqual([]);
});
