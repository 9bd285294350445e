import { expect, it, vi } from 'vitest';

import { demandAtMost } from '../../bench/measure.ts';
import { moved, runAll, waitFor, whileItMoves } from '../../bench/movement.ts';
import { inVirtualTime } from '../worlds/virtual-time.ts';

const play = async <Result>(doing: () => Promise<Result>) =>
  inVirtualTime(
    0,
    () => 0.5,
    true,
    async (time) => {
      const told = doing().then(
        (result) => [result, time.now],
        (error: Error) => [error.message, time.now],
      );
      expect(await time.passUntil(told, 300_000)).toBe(true);
      return told;
    },
  );

/** A benchmark that makes this progress, and is done 20 s later. */
const benchmark =
  (...progressAfterMs: readonly number[]) =>
  async () => {
    for (const ms of progressAfterMs) {
      await new Promise((resolve) => void setTimeout(resolve, ms));
      moved();
    }
    await new Promise((resolve) => void setTimeout(resolve, 20_000));
  };

it('a benchmark may take long, and fails with a message after 30 s without progress', async () => {
  expect(await play(async () => whileItMoves('calls', benchmark(25_000, 25_000, 25_000)))).toEqual([undefined, 95_000]);
  expect(await play(async () => whileItMoves('calls', benchmark(10_000, 100_000)))).toEqual([
    'calls makes no progress for 30 s.',
    40_000,
  ]);
});

it('a wait of a benchmark ends with its value, or after 30 s with a message', async () => {
  let state: string | undefined;
  const found = async () => {
    setTimeout(() => (state = 'ended'), 1_000);
    return waitFor('the call ends', () => state);
  };
  expect(await play(found)).toEqual(['ended', 1_000]);
  expect(await play(async () => waitFor('the call ends', () => undefined))).toEqual([
    'Waited for 30 s: the call ends.',
    30_000,
  ]);
});

it('every benchmark is measured even if one fails, and every failure is named at the end', async () => {
  vi.spyOn(console, 'log').mockReturnValue(undefined);
  const measured: string[] = [];
  const bench = (name: string, ...figures: readonly number[]) =>
    [
      name,
      async () => {
        measured.push(name);
        demandAtMost(...figures.map((figure, index) => [`figure ${index}`, figure, 5] as const));
      },
    ] as const;
  await expect(runAll([bench('a', 6, 5, Number.NaN), bench('b', 4), bench('c', 7)])).rejects.toThrow(
    [
      'a failed. Beyond its bound. figure 0: 6, at most 5',
      'Beyond its bound. figure 2: NaN, at most 5',
      'c failed. Beyond its bound. figure 0: 7, at most 5',
    ].join('\n'),
  );
  expect(measured).toEqual(['a', 'b', 'c']);
  await expect(runAll([bench('b', 4)])).resolves.toBeUndefined();
});
