import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/calls/model/clock.ts';
import { Wake } from '../../../src/calls/run/due.ts';
import { START } from '../new-case.ts';

let rings: number[];
beforeEach(() => {
  rings = [];
  vi.useFakeTimers({ now: START });
});
afterEach(() => void vi.useRealTimers());

/** A timer whose ring is noted, in milliseconds since the start. @param onRing what a look sets, and whether it changed anything */
const wakeThat = (onRing: (wake: Wake) => boolean = () => true): Wake => {
  const wake = new Wake(systemClock, () => {
    rings.push(Date.now() - START);
    wake.rearm(onRing(wake));
  });
  return wake;
};

it('rings at the earliest time, and then at the next', () => {
  const wake = wakeThat();
  wake.set('late', START + 5_000);
  wake.set('due', START - 1_000);
  wake.set('next', START + 3_000);
  wake.set('none', START + 1_000);
  wake.set('none', undefined);
  vi.advanceTimersByTime(60_000);
  expect(rings).toEqual([0, 3_000, 5_000]);
});

it('rings for what is due all the same after 2 s if a look changed nothing, and at once if it did', () => {
  const wake = wakeThat((own) => {
    own.set('stuck', START);
    return rings.length === 2;
  });
  wake.set('stuck', START);
  vi.advanceTimersByTime(4_100);
  expect(rings).toEqual([0, 2_000, 2_001, 4_001]);
});

it('rings at once when it is asked to, and no more after its end', () => {
  const wake = wakeThat();
  wake.now();
  vi.advanceTimersByTime(100);
  wake.set('later', START + 1_000);
  wake.end();
  vi.advanceTimersByTime(5_000);
  expect(rings).toEqual([0]);
});
