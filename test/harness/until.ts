import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds; throws an error that names it where that takes too long. */
export const until = async (isSo: () => boolean | Promise<boolean>, what: string, withinMs = 60_000): Promise<void> => {
  const begin = performance.now();
  while (!(await isSo())) {
    const waited = performance.now() - begin;
    if (waited > withinMs) throw new Error(`waited ${withinMs} ms, but not yet: ${what}`);
    // A check takes processor time from the work that it waits for: the longer the wait, the rarer the checks.
    await sleep(Math.min(Math.max(waited / 10, 20), 100));
  }
};
