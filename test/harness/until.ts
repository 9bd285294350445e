import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds; throws an error that names it where that takes too long. */
export const until = async (isSo: () => boolean | Promise<boolean>, what: string, withinMs = 60_000): Promise<void> => {
  const end = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`waited ${withinMs} ms, but not yet: ${what}`);
    await sleep(20);
  }
};
