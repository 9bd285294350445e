import { rename } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Windows refuses to replace a file that a virus scanner or an indexer has open. It is soon closed. */
const REPLACE_ATTEMPTS = 10;
const REPLACE_WAIT_MS = 50;

/** Renames a file onto another one. */
export const moveOnto = async (from: string, to: string): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rename(from, to);
      return;
    } catch (error) {
      if (attempt === REPLACE_ATTEMPTS || isMissing(error)) throw error;
      await delay(REPLACE_WAIT_MS);
    }
  }
};

/** Whether a file system error says that there is no such file. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
