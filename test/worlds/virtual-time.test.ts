import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { randomFrom } from '../../infra/cli/demo/random.ts';
import { inVirtualTime, runIn, type VirtualTime } from './virtual-time.ts';

const START = Date.parse('2026-11-21T22:00:00Z');

const inTime = (play: (time: VirtualTime) => Promise<void>) => () =>
  inVirtualTime(START, randomFrom('a seed'), true, play);

it(
  'an hour passes in which all timers go off in their turn, and what follows from one comes before the next',
  inTime(async (time) => {
    const told: string[] = [];
    const tell = (what: string) => told.push(`${(Date.now() - START) / 1_000} ${what}`);
    const every = setInterval(() => tell('interval'), 1_200_000);
    setTimeout(() => tell('second'), 2_000);
    setTimeout(() => tell('first'), 1_000);
    clearTimeout(setTimeout(() => tell('never'), 500));
    AbortSignal.timeout(2_500).addEventListener('abort', () => tell('abort'));
    void (async () => {
      await sleep(1_000);
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
      tell('followed');
      await sleep(1_000);
      tell('slept');
    })();
    await time.pass(3_600_000);
    clearInterval(every);
    await time.pass(3_600_000);
    expect(told).toEqual([
      '1 first',
      '1 followed',
      '2 second',
      '2 slept',
      '2.5 abort',
      '1200 interval',
      '2400 interval',
      '3600 interval',
    ]);
    expect(new Date().toISOString()).toBe('2026-11-22T00:00:00.000Z');
    expect(performance.now()).toBe(7_200_000);
  }),
);

it(
  'a process has a clock of its own, also in what follows, and sets nothing off after its end',
  inTime(async (time) => {
    const process = { clockAheadMs: 2_000, isOver: false };
    const seen: number[] = [];
    runIn(process, () => {
      void sleep(1_000).then(() => setTimeout(() => seen.push(Date.now() - START), 1_000));
      setInterval(() => seen.push(Date.now() - START), 5_000);
    });
    await time.pass(6_000);
    process.isOver = true;
    await time.pass(60_000);
    expect(seen).toEqual([4_000, 7_000]);
    expect(Date.now() - START).toBe(66_000);
  }),
);
