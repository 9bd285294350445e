import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

import pLimit from 'p-limit';

import { CHANGES, type Change } from './break-rule.ts';

/** A busy machine runs two of them. */
const twoAtOnce = pLimit(2);

/** The output of soak.ts, in a separate process whose source is changed. */
export const saidOf = async (changes: readonly Change[], args: readonly string[]): Promise<string> =>
  twoAtOnce(async () => {
    const child = spawn(process.execPath, ['--import', './test/worlds/break-rule.ts', 'test/worlds/soak.ts', ...args], {
      env: { ...process.env, [CHANGES]: JSON.stringify(changes) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return text(child.stdout);
  });

/** A broken seed, in the output. */
export const BROKEN = /^(?:(.*): )?seed (\d+): .*$/m;

/** The output of the first seed of a world that is broken without a rule, and its output with the rule. @param world of soak.ts, with its options */
export const playWithout = async (changes: readonly Change[], seeds: number, ...world: string[]) => {
  const without = await saidOf(changes, [...world, '--seeds', String(seeds)]);
  const [line = 'no seed', mode = '', seed = ''] = BROKEN.exec(without) ?? [];
  console.log(line.slice(0, 300));
  return { without, withRule: await saidOf([], [...world.slice(0, 1), '--mode', mode, '--seed', seed]) };
};
