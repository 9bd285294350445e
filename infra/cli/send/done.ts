import { appendFile, open, readFile, rm, stat, truncate } from 'node:fs/promises';
import { format, parse } from 'node:path';

import { z } from 'zod';

import { CommandError } from '../command-line.ts';
import { isMissing, moveOnto, replaceFile } from '../replace-file.ts';
import type { Outcome } from './deliver.ts';
import { type Item, jsonIn } from './items.ts';
import { STDIN } from './options.ts';

const count = z.int().min(0);

const doneSchema = z.strictObject({
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
export type Done = z.infer<typeof doneSchema>;

/** How every line of rejected events begins: a file that begins otherwise is somebody else's. */
const LINE_BEGINS = '{"reason":';

/**
 * The account of one input: the progress file beside it, and the file of its rejected events. Whatever ends a run, the progress file never says
 * too much, and an event is in the file of rejected events once: its line is written first, then the progress that includes it. What an earlier
 * sending rejected stays, under another name.
 */
export class Account {
  /** The path of the input, or `-` for standard input. */
  readonly name: string;
  /** The path of the file of rejected events, which there need not be. */
  readonly rejectedPath: string;
  /** Undefined for standard input, which cannot be read again. */
  readonly #path: string | undefined;
  /** Whether a run before has begun this sending. */
  readonly #goesOn: boolean;
  #done: Done;

  private constructor(name: string, rejectedPath: string, done: Done, goesOn: boolean) {
    this.name = name;
    this.rejectedPath = rejectedPath;
    this.#path = progressPath(name);
    this.#goesOn = goesOn;
    this.#done = done;
  }

  /**
   * Reads what an earlier run has done of an input, and changes nothing. If the file or the service is another one now, that is nothing: then
   * all of it is sent, which changes nothing of what is recorded already.
   *
   * @throws {CommandError} if the progress file or the file of rejected events is something else, or cannot be used
   */
  static async open(name: string, url: string, rejectedPath: string): Promise<Account> {
    await mustTakeRejected(rejectedPath);
    const path = progressPath(name);
    const { size, mtimeMs: modifiedMs } = path === undefined ? { size: 0, mtimeMs: 0 } : await stat(name);
    const done = path === undefined ? undefined : await readDone(path);
    const goesOn = done?.url === url && done.size === size && done.modifiedMs === modifiedMs;
    const nothing = { items: 0, recorded: 0, unchanged: 0, rejected: 0, rejectedBytes: 0 };
    return new Account(name, rejectedPath, goesOn ? done : { url, size, modifiedMs, ...nothing }, goesOn);
  }

  get done(): Done {
    return this.#done;
  }

  /**
   * Makes the file of rejected events one of this sending. A sending that goes on keeps what is about events that are done: lines behind that were
   * written just before a crash, for events that are sent again. For a new one the file of an earlier sending gets another name.
   *
   * @returns that name, if there was such a file
   */
  async begin(): Promise<string | undefined> {
    const { rejectedBytes } = this.#done;
    const size = (await sizeOf(this.rejectedPath)) ?? 0;
    if (this.#goesOn) {
      if (size > rejectedBytes) await truncate(this.rejectedPath, rejectedBytes);
      return undefined;
    }
    const kept = size > 0 ? await freeName(this.rejectedPath) : undefined;
    if (kept !== undefined) await moveOnto(this.rejectedPath, kept);
    await this.#save();
    return kept;
  }

  /** Takes the next items as done, once that survives a power cut. */
  async add(items: readonly Item[], { recorded, unchanged, refused }: Outcome): Promise<void> {
    const rejected = items.flatMap((item) => {
      const reason = item.fault ?? refused.get(item);
      return reason === undefined ? [] : [`${lineOf(this.name, item, reason)}\n`];
    });
    if (rejected.length > 0) await appendFile(this.rejectedPath, rejected.join(''), { flush: true });
    this.#done = {
      ...this.#done,
      items: this.#done.items + items.length,
      recorded: this.#done.recorded + recorded,
      unchanged: this.#done.unchanged + unchanged,
      rejected: this.#done.rejected + rejected.length,
      ...(rejected.length > 0 && { rejectedBytes: (await sizeOf(this.rejectedPath)) ?? 0 }),
    };
    await this.#save();
  }

  /** Removes the progress file: the next run sends everything again. */
  async close(): Promise<void> {
    if (this.#path !== undefined) await rm(this.#path, { force: true });
  }

  async #save(): Promise<void> {
    if (this.#path !== undefined) await replaceFile(this.#path, `${JSON.stringify(this.#done)}\n`);
  }
}

const progressPath = (name: string): string | undefined => (name === STDIN ? undefined : `${name}.progress.json`);

const readDone = async (path: string): Promise<Done | undefined> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw new CommandError(`${path} cannot be read.`, { cause: error });
  });
  if (text === undefined) return undefined;
  const { data } = doneSchema.safeParse(jsonIn(text));
  if (data !== undefined) return data;
  throw new CommandError(`${path} is not a progress file of this command. Rename one of the two files.`);
};

const mustTakeRejected = async (path: string): Promise<void> => {
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

/** `a.rejected.1.ndjson` for `a.rejected.ndjson`, or the next number that is free. */
const freeName = async (path: string): Promise<string> => {
  const { dir, name, ext } = parse(path);
  for (let number = 1; ; number += 1) {
    const free = format({ dir, name: `${name}.${number}`, ext });
    if ((await sizeOf(free)) === undefined) return free;
  }
};

/** How long a file is, in bytes; undefined: there is none. */
const sizeOf = async (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    (error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    },
  );

/** The event as it came, so that no number loses digits; as a text if it is not JSON. */
const lineOf = (file: string, { line, index, text }: Item, reason: string): string => {
  const where = JSON.stringify({ reason, file, line, index }).slice(0, -1);
  // Line breaks in JSON are only between its tokens, so a space does as well.
  const isJson = jsonIn(text) !== undefined;
  return `${where},${isJson ? `"event":${text.replaceAll(/[\r\n]/g, ' ')}` : `"text":${JSON.stringify(text)}`}}`;
};
