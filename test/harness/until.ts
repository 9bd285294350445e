import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds; throws an error that names it where that takes too long. */
export const until = async (isSo: () => boolean | Promise<boolean>, what: string, withinMs = 60_000): Promise<void> => {
  const begin = performance.now();
  while (!(await isSo())) {
    const waited = performance.now() - begin;
    if (waited > withinMs) throw new Error(`waited ${withinMs} ms, but not yet: ${what}`);
    // A question takes processor time from what it waits for: the longer it has taken, the less often it is asked.
    await sleep(Math.min(Math.max(waited / 10, 20), 100));
  }
};
