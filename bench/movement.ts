import { setTimeout as sleep } from 'node:timers/promises';

import { CommandError } from '../infra/cli/command-line.ts';

/** How long a benchmark may make no progress, in milliseconds. */
const MAX_STILL_MS = 30_000;
const CHECKED_EVERY_MS = 1_000;

let movedAt = 0;

/** Notes progress: a request was answered, or a process has started. */
export const moved = (): void => {
  movedAt = performance.now();
};

/** Runs a benchmark. @throws {CommandError} if it makes no progress for 30 s */
export const whileItMoves = async (name: string, run: () => Promise<void>): Promise<void> => {
  moved();
  let timer: NodeJS.Timeout | undefined;
  const still = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (performance.now() - movedAt >= MAX_STILL_MS) reject(new CommandError(`${name} makes no progress for 30 s.`));
    }, CHECKED_EVERY_MS);
  });
  try {
    await Promise.race([run(), still]);
  } finally {
    clearInterval(timer);
  }
};

/**
 * Runs benchmarks one after the other, all of them even if some fail.
 *
 * @throws {CommandError} that names every failure
 */
export const runAll = async (
  benches: readonly (readonly [name: string, run: () => Promise<void>])[],
): Promise<void> => {
  const failures: string[] = [];
  for (const [name, run] of benches) {
    try {
      await whileItMoves(name, run);
    } catch (error) {
      if (!(error instanceof CommandError)) console.error(error);
      failures.push(`${name} failed. ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (failures.length > 0) throw new CommandError(failures.join('\n'));
};

/** Waits for a value, and checks every millisecond. @throws {CommandError} if that takes 30 s */
export const waitFor = async <Value>(what: string, find: () => Value | undefined): Promise<Value> => {
  const end = performance.now() + MAX_STILL_MS;
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (performance.now() >= end) throw new CommandError(`Waited for 30 s: ${what}.`);
    await sleep(1);
  }
};
