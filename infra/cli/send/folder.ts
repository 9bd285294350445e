import { access, constants, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { z } from 'zod';

import { CommandError } from '../command-line.ts';

/** Files that hold events by their names, such as the dead letters of Event Grid: `2026/11/21/8/8019620053.json`. */
const EVENT_FILE = /\.(?:json|ndjson|jsonl)(?:\.gz)?$/i;

/** Files of rejected events, which this command writes next to its sources. */
const REJECTED_FILE = /\.rejected(?:\.\d+)?\.ndjson$/;

/** Names the folder that could not be read. */
const folderError = z.object({ path: z.string(), code: z.string() });

/**
 * The files in a folder and in the folders below it, by their paths in the order of their code units; the path of a file stands for that file.
 *
 * @param note tells the operator which files are left out
 * @throws {CommandError} if the folder has no file of events, or has a folder that cannot be read: nothing is sent then
 */
export const filesIn = async (path: string, note: (text: string) => void): Promise<readonly string[]> => {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    const { path: folder, code } = folderError.parse(error);
    throw new CommandError(`${folder} cannot be read (${code}).`, { cause: error });
  });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const readable = new Set(await Array.fromAsync(paths, async (file) => ((await isReadable(file)) ? file : undefined)));
  const { files = [], leftOut = [] } = Object.groupBy(paths.toSorted(byCodeUnits), (file) =>
    EVENT_FILE.test(file) && !REJECTED_FILE.test(file) && readable.has(file) ? 'files' : 'leftOut',
  );
  if (leftOut.length > 0) {
    const named = leftOut.slice(0, MAX_NAMED).join(', ');
    const more = leftOut.length > MAX_NAMED ? ` and ${leftOut.length - MAX_NAMED} more` : '';
    note(`${path}: left out ${named}${more}. To send a file of another name, or rejected events, name the file.`);
  }
  if (files.length === 0) throw new CommandError(`${path} has no file that ends in .json, .ndjson, .jsonl or .gz.`);
  return files;
};

/** A link may lead nowhere or to a folder, and a pipe may never end. */
const isReadable = async (file: string): Promise<boolean> =>
  access(file, constants.R_OK).then(
    async () => (await stat(file)).isFile(),
    () => false,
  );

const MAX_NAMED = 5;

const byCodeUnits = (one: string, other: string): number => (one < other ? -1 : 1);
