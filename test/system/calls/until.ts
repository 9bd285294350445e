import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something is so; fails with what was waited for where that takes too long. */
export const until = async (isSo: () => boolean | Promise<boolean>, what: string, withinMs = 20_000): Promise<void> => {
  const end = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
    await sleep(20);
  }
};
