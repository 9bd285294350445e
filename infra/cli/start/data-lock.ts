import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { CommandError } from '../command-line.ts';

/** The file in a folder of `--data` that names the process which writes there. */
const LOCK_FILE = 'npm-start.pid';

/**
 * Makes the folder of `--data` if it is missing, and keeps other runs out of it: two that write the same tables would lose events.
 *
 * @returns lets others in again
 * @throws {CommandError} if another run has it, or it cannot be written
 */
export const lockData = (folder: string): (() => void) => {
  const path = join(folder, LOCK_FILE);
  try {
    makeFolder(resolve(folder));
    if (!isWritten(path)) {
      const owner = Number(readFileSync(path, 'utf8'));
      if (runs(owner)) {
        throw new CommandError(
          `--data ${folder} is in use by the process ${owner}. End it, or choose another folder. If it is no npm start, delete ${path}.`,
        );
      }
      // Its run was killed.
      rmSync(path);
      if (!isWritten(path)) throw new CommandError(`--data ${folder} is in use by another npm start.`);
    }
  } catch (error) {
    if (error instanceof CommandError || !(error instanceof Error && 'code' in error)) throw error;
    throw new CommandError(`--data ${folder} cannot be written (${String(error.code)}).`, { cause: error });
  }
  return () => rmSync(path, { force: true });
};

/** Makes a folder and those above it. Node's own `recursive` never ends if a file system, such as /proc, has no room for folders. */
const makeFolder = (path: string): void => {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
};

/** Writes the file with the id of this process, unless there is one. @returns whether it did */
const isWritten = (path: string): boolean => {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
};

const runs = (pid: number): boolean => {
  if (!Number.isInteger(pid) || pid < 1) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};
