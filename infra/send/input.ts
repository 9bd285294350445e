import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { CommandError } from '../command-line.ts';
import { EXIT, STDIN } from './options.ts';

/** What is sent, opened for reading once. */
export interface Input {
  /** Its bytes, unpacked if they are gzip, without a byte order mark. */
  readonly chunks: AsyncIterable<Buffer>;
  /** How much of it has been read so far, 0 to 1; undefined if its size is not known, as that of standard input. */
  part(): number | undefined;
}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const UTF16_MARKS = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

/** Also how exactly the progress bar knows how much has been read. */
const CHUNK_BYTES = 131_072;

/**
 * Opens a file, or standard input for `-`. Gzip is known by its first two bytes, not by its name.
 *
 * @param stop reading ends early when it is aborted
 * @throws {CommandError} while reading: it cannot be read further, its gzip is damaged, or it is UTF-16
 */
export const openInput = async (name: string, stop: AbortSignal): Promise<Input> => {
  const found = name === STDIN ? undefined : await stat(name);
  const total = found?.isFile() === true ? Math.max(found.size, 1) : undefined;
  const raw: Readable = name === STDIN ? process.stdin : createReadStream(name, { highWaterMark: CHUNK_BYTES });
  stop.addEventListener('abort', () => raw.destroy(), { once: true });
  let bytesRead = 0;
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of raw) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytesRead += chunk.length;
      yield chunk;
    }
  };
  return {
    chunks: decoded(name, counted(), stop),
    part: () => (total === undefined ? undefined : Math.min(bytesRead / total, 1)),
  };
};

async function* decoded(name: string, raw: AsyncGenerator<Buffer>, stop: AbortSignal): AsyncGenerator<Buffer> {
  try {
    const packed = await withHead(raw);
    const isGzip = packed.head.subarray(0, 2).equals(GZIP_MAGIC);
    const { head, rest } = isGzip ? await withHead(unpacked(packed)) : packed;
    if (UTF16_MARKS.some((mark) => head.subarray(0, 2).equals(mark))) {
      throw new CommandError(`${name} is UTF-16. Write it as UTF-8; in PowerShell: Out-File -Encoding utf8.`);
    }
    yield head.subarray(0, 3).equals(UTF8_MARK) ? head.subarray(3) : head;
    yield* rest;
  } catch (error) {
    // Destroying the stream is how reading is ended early.
    if (stop.aborted) return;
    if (error instanceof CommandError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${name} cannot be read any further: ${reason}.`, { cause: error, exitCode: EXIT.stopped });
  }
}

interface Opened {
  readonly head: Buffer;
  readonly rest: AsyncIterable<Buffer>;
}

/** The first bytes, as many as the longest mark has, and all that follows. */
const withHead = async (chunks: AsyncIterable<Buffer>): Promise<Opened> => {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < UTF8_MARK.length) {
    const next = await iterator.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  return { head, rest: { [Symbol.asyncIterator]: () => iterator } };
};

async function* unpacked({ head, rest }: Opened): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const packed = async function* (): AsyncGenerator<Buffer> {
    yield head;
    yield* rest;
  };
  // An error of either comes out of the loop below: a pipeline destroys all its streams with it.
  pipeline(Readable.from(packed(), { objectMode: false }), gunzip, () => undefined);
  for await (const chunk of gunzip) if (Buffer.isBuffer(chunk)) yield chunk;
}
