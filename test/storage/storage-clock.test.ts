import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { StorageClock } from '../../src/storage/storage-clock.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');

beforeEach(() => void vi.useFakeTimers({ now: NOON - 3_600_000, toFake: ['Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it('tells the time of this process before any answer', () => {
  const clock = new StorageClock();
  clock.note(NaN);
  expect(clock.now()).toBe(NOON - 3_600_000);
});

it('tells the time of storage, whatever the clock of this process says, and comes nearer with each answer', () => {
  const clock = new StorageClock();
  // The true time is 700 ms after the second that storage tells; later it is 10 ms after it.
  clock.note(NOON);
  expect(clock.now()).toBe(NOON);
  vi.advanceTimersByTime(2_310);
  clock.note(NOON + 3_000);
  expect(clock.now()).toBe(NOON + 3_000);
  vi.setSystemTime(0);
  vi.advanceTimersByTime(500);
  expect(clock.now()).toBe(NOON + 3_500);
});

it('never runs back, also after late answers and when the best one is ten minutes old', () => {
  const clock = new StorageClock();
  clock.note(NOON);
  vi.advanceTimersByTime(100);
  clock.note(NOON - 900);
  expect(clock.now()).toBe(NOON + 100);
  for (let minute = 1; minute <= 30; minute += 1) {
    vi.advanceTimersByTime(60_000);
    const before = clock.now();
    // Each answer is 0.9 s late.
    clock.note(NOON + 100 + minute * 60_000 - 900);
    expect(clock.now()).toBeGreaterThanOrEqual(before);
  }
  vi.advanceTimersByTime(2_000);
  // The old answer is forgotten.
  expect(clock.now()).toBeLessThan(NOON + 100 + 30 * 60_000 + 2_000);
});
