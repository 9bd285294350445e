import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { CommandError } from '../command-line.ts';
import { isRunning } from '../stop-request.ts';

/** The file in a folder of `--data` that names the process that writes there. */
const LOCK_FILE = 'npm-start.pid';

/**
 * Makes the folder of `--data` if it is missing, and locks it: two runs that write the same tables would lose events.
 *
 * @returns unlocks the folder
 * @throws {CommandError} if another run has locked it, or it cannot be written
 */
export const lockData = (folder: string): (() => void) => {
  const path = join(folder, LOCK_FILE);
  try {
    mkdirSync(folder, { recursive: true });
    if (existsSync(path)) {
      const owner = Number(readFileSync(path, 'utf8'));
      if (owner > 0 && isRunning(owner)) {
        throw new CommandError(
          `--data ${folder} is in use by the process ${owner}. End it, or choose another folder. If that process is not \`npm start\`, delete ${path}.`,
        );
      }
      // Its run was killed.
      rmSync(path);
    }
    // Fails if another run has just written it.
    writeFileSync(path, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (error instanceof CommandError || !(error instanceof Error && 'code' in error)) throw error;
    const reason =
      error.code === 'EEXIST' ? 'is in use by another npm start' : `cannot be written (${String(error.code)})`;
    throw new CommandError(`--data ${folder} ${reason}.`, { cause: error });
  }
  return () => rmSync(path, { force: true });
};
