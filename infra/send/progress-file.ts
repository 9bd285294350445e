import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { z } from 'zod';

import { UsageError } from './send-error.ts';

const count = z.int().min(0);

const progressSchema = z.strictObject({
  version: z.literal(1),
  /** The service that has them: another one has nothing of it. */
  url: z.string(),
  /** The items from the beginning that the service has answered for, and the SHA-256 of their bytes. */
  items: count,
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  recorded: count,
  unchanged: count,
  rejected: count,
  /** How long the file of rejected events is with those of these items, in bytes. */
  rejectedBytes: count,
  /** Set when the end was reached: how the input looked then, so that it need not be read again to know that nothing is left. */
  whole: z.strictObject({ size: count, modifiedMs: z.number() }).optional(),
});

/** What is surely done of one input. */
export type Progress = z.infer<typeof progressSchema>;

/** Windows refuses to replace a file that a virus scanner or an indexer has open; it is soon closed. */
const REPLACE_ATTEMPTS = 10;
const REPLACE_WAIT_MS = 50;

/**
 * What an earlier run has done; undefined where there was none.
 *
 * @param url of the service that is sent to
 * @throws {UsageError} where the file is something else, or about another service
 */
export const readProgress = async (path: string, url: string): Promise<Progress | undefined> => {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new UsageError(`${path} cannot be read.`, { cause: error });
  }
  const { data, error } = progressSchema.safeParse(parsed(text));
  if (data === undefined) {
    throw new UsageError(`${path} is not a progress file of this command. Name another one with --state.`, {
      cause: error,
    });
  }
  if (data.url !== url) {
    throw new UsageError(
      `${path} is about sending to ${data.url}. Finish that first, or send all of it to ${url} with --from-start.`,
    );
  }
  return data;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Replaces the file as a whole: after a crash it is the old one or the new one. */
export const writeProgress = async (path: string, progress: Progress): Promise<void> => {
  const next = `${path}.next`;
  const file = await open(next, 'w');
  try {
    await file.writeFile(`${JSON.stringify(progress)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rename(next, path);
      return;
    } catch (error) {
      if (attempt === REPLACE_ATTEMPTS) throw error;
      await delay(REPLACE_WAIT_MS);
    }
  }
};

/** Takes the file away: the next run sends everything again. */
export const removeProgress = async (path: string): Promise<void> => rm(path, { force: true });

/** How an input looks from outside. */
export const looksOf = async (name: string): Promise<NonNullable<Progress['whole']>> => {
  const { size, mtimeMs } = await stat(name);
  return { size, modifiedMs: mtimeMs };
};

/** Whether a file system error says that there is no such file. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
