import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

import pLimit from 'p-limit';

import { CHANGES, type Change } from './break-rule.ts';

const HOOK = './test/worlds/break-rule.ts';
/** A busy machine runs two of them. */
const twoAtOnce = pLimit(2);

/** The output of a world, in a separate process whose source is changed. @param soak the file that plays the world */
export const saidOf = async (soak: string, changes: readonly Change[], args: readonly string[]): Promise<string> =>
  twoAtOnce(async () => {
    const env = { ...process.env, [CHANGES]: JSON.stringify(changes) };
    const child = spawn(process.execPath, ['--import', HOOK, soak, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return text(child.stdout);
  });
