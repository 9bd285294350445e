import { readFile, rm, stat } from 'node:fs/promises';

import { z } from 'zod';

import { isMissing, replaceFile } from '../replace-file.ts';
import { CommandError } from '../command-line.ts';

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

/**
 * What an earlier run has done; undefined where there was none.
 *
 * @param url of the service that is sent to
 * @throws {CommandError} where the file is something else, or about another service
 */
export const readProgress = async (path: string, url: string): Promise<Progress | undefined> => {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new CommandError(`${path} cannot be read.`, { cause: error });
  }
  const { data, error } = progressSchema.safeParse(parsed(text));
  if (data === undefined) {
    throw new CommandError(`${path} is not a progress file of this command. Name another one with --state.`, {
      cause: error,
    });
  }
  if (data.url !== url) {
    throw new CommandError(
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
export const writeProgress = async (path: string, progress: Progress): Promise<void> =>
  replaceFile(path, `${JSON.stringify(progress)}\n`);

/** Takes the file away: the next run sends everything again. */
export const removeProgress = async (path: string): Promise<void> => rm(path, { force: true });

/** How an input looks from outside. */
export const looksOf = async (name: string): Promise<NonNullable<Progress['whole']>> => {
  const { size, mtimeMs } = await stat(name);
  return { size, modifiedMs: mtimeMs };
};
