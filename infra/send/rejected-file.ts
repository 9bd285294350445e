import { open, rm, truncate, type FileHandle } from 'node:fs/promises';

import type { Rejection } from './batches.ts';
import { isMissing } from '../replace-file.ts';
import { CommandError } from '../command-line.ts';

/** How every line begins: a file that begins otherwise is somebody else's. */
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
   * @param path of the file
   * @param source the input's name, for the lines
   * @throws {CommandError} where there is a file of another kind at this path
   */
  static async at(path: string, source: string): Promise<RejectedFile> {
    const file = await open(path, 'r+').catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw new CommandError(`${path} cannot be written. Name another one with --rejected.`, { cause: error });
    });
    if (file === undefined) return new RejectedFile(path, source, 0);
    try {
      const { size } = await file.stat();
      if (size > 0) await mustBeOurs(file, path);
      return new RejectedFile(path, source, size);
    } finally {
      await file.close();
    }
  }

  /**
   * Keeps what is about events that are done. Lines behind that were written just before a crash, for events that are sent
   * again: they are cut off, so that no event is in the file twice.
   *
   * @param bytes how much to keep; 0 where all is sent from the start
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

const mustBeOurs = async (file: FileHandle, path: string): Promise<void> => {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(LINE_BEGINS.length), position: 0 });
  if (buffer.toString('utf8', 0, bytesRead) !== LINE_BEGINS) {
    throw new CommandError(`${path} exists and is not a file of rejected events. Name another one with --rejected.`);
  }
};

/** The event as it came, so that no number loses digits; as a text where it is not JSON. */
const lineOf = (source: string, { item, reason }: Rejection): string => {
  const where = JSON.stringify({ reason, file: source, line: item.line, index: item.index }).slice(0, -1);
  const text = item.bytes.toString('utf8').trim();
  // Line breaks in JSON are only between its tokens, so a space does as well.
  const content = isJson(text) ? `"event":${text.replaceAll(/[\r\n]/g, ' ')}` : `"text":${JSON.stringify(text)}`;
  return `${where},${content}}`;
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
