import { open, readFile, rm, stat, truncate, type FileHandle } from 'node:fs/promises';

import { z } from 'zod';

import { CommandError } from '../command-line.ts';
import { isMissing, replaceFile } from '../replace-file.ts';
import type { Rejection } from './deliver.ts';
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

/** What is about the sent file, and nothing about how far it was sent. */
const NOTHING = { items: 0, recorded: 0, unchanged: 0, rejected: 0, rejectedBytes: 0 } as const;

/** Where the progress of an input is kept; undefined: nowhere, because standard input cannot be read again. */
const progressPath = (name: string): string | undefined => (name === STDIN ? undefined : `${name}.progress.json`);

/**
 * What an earlier run has done of a file. If the file or the service is another one now, that is nothing: then all of it is sent,
 * which changes nothing of what is recorded already.
 *
 * @throws {CommandError} if the progress file is something else
 */
export const readDone = async (name: string, url: string): Promise<Done> => {
  const path = progressPath(name);
  if (path === undefined) return { url, size: 0, modifiedMs: 0, ...NOTHING };
  const { size, mtimeMs: modifiedMs } = await stat(name);
  const now = { url, size, modifiedMs };
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw new CommandError(`${path} cannot be read.`, { cause: error });
  });
  if (text === undefined) return { ...now, ...NOTHING };
  const { data } = progressSchema.safeParse(parsed(text));
  if (data === undefined) {
    throw new CommandError(`${path} is not a progress file of this command. Rename one of the two files.`);
  }
  const isSame = data.url === url && data.size === size && data.modifiedMs === modifiedMs;
  return isSame ? data : { ...now, ...NOTHING };
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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

/** How every line of rejected events begins: a file that begins otherwise is somebody else's. */
const LINE_BEGINS = '{"reason":';

/**
 * The events that were not recorded, one on a line with the reason and where it was, as NDJSON. The file is made when the
 * first one comes.
 */
export class RejectedFile {
  readonly #path: string;
  readonly #source: string;
  #file: FileHandle | undefined;
  #bytes: number;

  private constructor(path: string, source: string, bytes: number) {
    this.#path = path;
    this.#source = source;
    this.#bytes = bytes;
  }

  /**
   * Looks at what is there and changes nothing.
   *
   * @param source the input's name, for the lines
   * @throws {CommandError} if there is a file of another kind at this path
   */
  static async at(path: string, source: string): Promise<RejectedFile> {
    const text = await open(path, 'r+')
      .then(async (file) => {
        const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(LINE_BEGINS.length), position: 0 });
        const { size } = await file.stat();
        await file.close();
        return { begin: buffer.toString('utf8', 0, bytesRead), size };
      })
      .catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw new CommandError(`${path} cannot be written. Name another one with --rejected.`, { cause: error });
      });
    if (text !== undefined && text.size > 0 && text.begin !== LINE_BEGINS) {
      throw new CommandError(`${path} exists and is not a file of rejected events. Name another one with --rejected.`);
    }
    return new RejectedFile(path, source, text?.size ?? 0);
  }

  /**
   * Keeps what is about events that are done. Lines behind that were written just before a crash, for events that are sent
   * again: they are cut off, so that no event is in the file twice.
   *
   * @param bytes how much to keep; 0 if all is sent from the start
   */
  async cutBack(bytes: number): Promise<void> {
    if (this.#bytes <= bytes) return;
    if (bytes === 0) await rm(this.#path);
    else await truncate(this.#path, bytes);
    this.#bytes = bytes;
  }

  /** Its length in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds lines; when it fulfils they survive a power cut. */
  async add(rejections: readonly Rejection[]): Promise<void> {
    if (rejections.length === 0) return;
    this.#file ??= await open(this.#path, 'a');
    const lines = Buffer.from(rejections.map((rejection) => `${lineOf(this.#source, rejection)}\n`).join(''));
    await this.#file.appendFile(lines);
    await this.#file.datasync();
    this.#bytes += lines.length;
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

/** The event as it came, so that no number loses digits; as a text if it is not JSON. */
const lineOf = (source: string, { item: { line, index, text }, reason }: Rejection): string => {
  const where = JSON.stringify({ reason, file: source, line, index }).slice(0, -1);
  // Line breaks in JSON are only between its tokens, so a space does as well.
  const isJson = parsed(text) !== undefined;
  return `${where},${isJson ? `"event":${text.replaceAll(/[\r\n]/g, ' ')}` : `"text":${JSON.stringify(text)}`}}`;
};
