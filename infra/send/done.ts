import { appendFile, open, readFile, rm, stat, truncate } from 'node:fs/promises';

import { z } from 'zod';

import { CommandError } from '../command-line.ts';
import { isMissing, replaceFile } from '../replace-file.ts';
import { type Item, jsonIn } from './items.ts';
import { STDIN } from './options.ts';

const count = z.int().min(0);

const progressSchema = z.strictObject({
  /** The service that has the events: another one has nothing of them. */
  url: z.string(),
  /** How the file looked: of another one nothing has been sent. */
  size: count,
  modifiedMs: z.number(),
  /** The items from the beginning that the service has answered for. */
  items: count,
  recorded: count,
  unchanged: count,
  rejected: count,
  /** How long the file of rejected events is with those of these items, in bytes. */
  rejectedBytes: count,
});

/** What is surely done of one input. */
export type Done = z.infer<typeof progressSchema>;

/** Where the progress of an input is kept; undefined: nowhere, because standard input cannot be read again. */
const progressPath = (name: string): string | undefined => (name === STDIN ? undefined : `${name}.progress.json`);

/**
 * What an earlier run has done of an input. If the file or the service is another one now, that is nothing: then all of it is sent,
 * which changes nothing of what is recorded already.
 *
 * @throws {CommandError} if the progress file is something else
 */
export const readDone = async (name: string, url: string): Promise<Done> => {
  const path = progressPath(name);
  const { size, mtimeMs } = path === undefined ? { size: 0, mtimeMs: 0 } : await stat(name);
  const nothing = {
    url,
    size,
    modifiedMs: mtimeMs,
    items: 0,
    recorded: 0,
    unchanged: 0,
    rejected: 0,
    rejectedBytes: 0,
  };
  if (path === undefined) return nothing;
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw new CommandError(`${path} cannot be read.`, { cause: error });
  });
  if (text === undefined) return nothing;
  const { data } = progressSchema.safeParse(jsonIn(text));
  if (data === undefined) {
    throw new CommandError(`${path} is not a progress file of this command. Rename one of the two files.`);
  }
  return data.url === url && data.size === size && data.modifiedMs === mtimeMs ? data : nothing;
};

/** Replaces the progress file as a whole: after a crash it is the old one or the new one. */
export const writeDone = async (name: string, done: Done): Promise<void> => {
  const path = progressPath(name);
  if (path !== undefined) await replaceFile(path, `${JSON.stringify(done)}\n`);
};

/** Removes the progress file: the next run sends everything again. */
export const removeDone = async (name: string): Promise<void> => {
  const path = progressPath(name);
  if (path !== undefined) await rm(path, { force: true });
};

/** An item that is not recorded, and why. */
export interface Rejection {
  readonly item: Item;
  readonly reason: string;
}

/** How every line of rejected events begins: a file that begins otherwise is somebody else's. */
const LINE_BEGINS = '{"reason":';

/**
 * Looks whether rejected events can go into this file, which there need not be yet; changes nothing.
 *
 * @throws {CommandError} if it is a file of another kind, or cannot be written
 */
export const checkRejected = async (path: string): Promise<void> => {
  const begin = await open(path, 'r+')
    .then(async (file) => {
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(LINE_BEGINS.length), position: 0 });
      await file.close();
      return buffer.toString('utf8', 0, bytesRead);
    })
    .catch((error: unknown) => {
      if (isMissing(error)) return '';
      throw new CommandError(`${path} cannot be written. Name another one with --rejected.`, { cause: error });
    });
  if (begin !== '' && begin !== LINE_BEGINS) {
    throw new CommandError(`${path} exists and is not a file of rejected events. Name another one with --rejected.`);
  }
};

/**
 * Keeps what is about events that are done. Lines behind that were written just before a crash, for events that are sent
 * again: they are cut off, so that no event is in the file twice.
 *
 * @param bytes how much to keep; 0 if all is sent from the start
 */
export const cutRejected = async (path: string, bytes: number): Promise<void> => {
  if (bytes === 0) return rm(path, { force: true });
  const size = await sizeOf(path);
  if (size > bytes) await truncate(path, bytes);
};

/**
 * Adds the events that were not recorded, one on a line with the reason and where it was, as NDJSON.
 *
 * @param source the input's name
 * @returns the length of the file in bytes, once its lines survive a power cut
 */
export const addRejected = async (path: string, source: string, rejections: readonly Rejection[]): Promise<number> => {
  await appendFile(path, rejections.map((rejection) => `${lineOf(source, rejection)}\n`).join(''), { flush: true });
  return sizeOf(path);
};

const sizeOf = async (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    (error: unknown) => {
      if (isMissing(error)) return 0;
      throw error;
    },
  );

/** The event as it came, so that no number loses digits; as a text if it is not JSON. */
const lineOf = (source: string, { item: { line, index, text }, reason }: Rejection): string => {
  const where = JSON.stringify({ reason, file: source, line, index }).slice(0, -1);
  // Line breaks in JSON are only between its tokens, so a space does as well.
  const isJson = jsonIn(text) !== undefined;
  return `${where},${isJson ? `"event":${text.replaceAll(/[\r\n]/g, ' ')}` : `"text":${JSON.stringify(text)}`}}`;
};
