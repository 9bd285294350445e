import { isUtf8 } from 'node:buffer';
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { z } from 'zod';

import { MAX_EVENTS_BYTES } from '../../../src/http/event-batch.ts';
import { jsonIn } from '../json.ts';
import { stoppedError } from './options.ts';

/** One JSON value of the input, or a text that should have been JSON. */
export interface Item {
  /** The line of its beginning, from 1. For an element of an array over many lines: the first line of the array. */
  readonly line: number;
  /** Its index in its array, from 0; undefined if it is not in an array. */
  readonly index: number | undefined;
  /** The text to send: JSON, unless the item has a fault. */
  readonly text: string;
  readonly fault: string | undefined;
  /** True: the source itself has the fault, and cannot be read beyond this item. */
  readonly isEnd?: true;
}

/** A request with one event is an array, which has two brackets. */
const MAX_EVENT_BYTES = MAX_EVENTS_BYTES - 2;

/** The largest array or object that may be printed over many lines; NDJSON may be of any size. */
const MAX_DOCUMENT_BYTES = 256 * 1_048_576;

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const UTF16_MARKS = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];
const LINE_FEED = 0x0a;

/** From here on, the bytes of a source are not events. Reading them again does not help. The message ends a sentence about the source. */
class DamagedSource extends Error {}

/**
 * The items of a stream. Its first two bytes tell whether it is gzip. The name decides only for an empty stream.
 *
 * @param name of the source
 * @param stop ends reading at once; its reason is thrown
 * @returns last, for a source that cannot be read to its end, the fault of the source
 * @throws {CommandError} during reading, if the stream fails
 */
export const readItems = (name: string, stream: Readable, stop: AbortSignal): AsyncGenerator<Item> =>
  itemsIn(bytesOf(name, stream, stop));

async function* bytesOf(name: string, raw: Readable, stop: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* unpacked(name, buffersOf(addAbortSignal(stop, raw)));
  } catch (error) {
    stop.throwIfAborted();
    if (error instanceof DamagedSource) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    if (isOfZlib(error)) throw new DamagedSource(`is damaged gzip (${reason})`, { cause: error });
    throw stoppedError(`${name} stopped being readable: ${reason}.`, error);
  }
}

const isOfZlib = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

async function* buffersOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) if (Buffer.isBuffer(chunk)) yield chunk;
}

async function* unpacked(name: string, chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < GZIP_MAGIC.length) {
    const next = await chunks.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  if (head.length === 0 && name.endsWith('.gz')) throw new DamagedSource('is empty, which is no gzip');
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield head;
    yield* chunks;
  };
  if (!head.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) return yield* whole();
  const gunzip = createGunzip();
  // The loop below throws the error of any stream: a pipeline destroys all its streams with the error.
  pipeline(Readable.from(whole(), { objectMode: false }), gunzip, () => undefined);
  try {
    yield* buffersOf(gunzip);
  } catch (error) {
    // The bytes that it unpacked before the damage.
    const rest: unknown = gunzip.read();
    if (Buffer.isBuffer(rest)) yield rest;
    throw error;
  }
}

/**
 * The JSON values of an input. It is NDJSON if its first line is a JSON value: then each line is an event or an array of events, and a damaged line
 * affects only itself. Otherwise it is one array or object over many lines, which is read into memory.
 *
 * @returns last, for an input that is UTF-16, damaged, or no NDJSON and too large for memory, that fault
 */
export async function* itemsIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<Item> {
  const buffered: Line[] = [];
  let bufferedBytes = 0;
  let isByLine: boolean | undefined;
  for await (const line of linesOf(chunks)) {
    if ('damage' in line) {
      for (const one of buffered) yield* itemsOf(one);
      return yield endOf(line);
    }
    isByLine ??= jsonIn(line.text) !== undefined;
    if (isByLine) yield* itemsOf(line);
    else {
      buffered.push(line);
      bufferedBytes += Buffer.byteLength(line.text) + 1;
      if (bufferedBytes > MAX_DOCUMENT_BYTES) return yield endOf({ at: buffered[0]?.at ?? line.at, damage: TOO_LARGE });
    }
  }
  const [first] = buffered;
  if (first === undefined) return;
  const whole = buffered.map(({ text }) => text).join('\n');
  if (jsonIn(whole) === undefined) for (const line of buffered) yield* itemsOf(line);
  else yield* itemsOf({ at: first.at, text: whole, isUtf8: buffered.every((line) => line.isUtf8) });
}

const endOf = ({ at, damage }: Damage): Item => ({
  line: at,
  index: undefined,
  text: '',
  fault: `${damage}. From here on, nothing of it is sent`,
  isEnd: true,
});

interface Line {
  readonly at: number;
  /** Without blanks at its ends, and without a byte order mark, which `trim` also removes. */
  readonly text: string;
  readonly isUtf8: boolean;
}

/** The line from which a source cannot be read. */
interface Damage {
  readonly at: number;
  readonly damage: string;
}

/** The lines of a byte stream, without blank lines. Node's `readline` would also split at U+2028, which is valid inside JSON. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line | Damage> {
  let pieces: Buffer[] = [];
  let length = 0;
  let at = 0;
  const line = function* (): Generator<Line> {
    const bytes = Buffer.concat(pieces);
    if (at === 0 && UTF16_MARKS.some((mark) => bytes.subarray(0, mark.length).equals(mark))) {
      throw new DamagedSource('is UTF-16: write it as UTF-8 (in PowerShell: Out-File -Encoding utf8)');
    }
    [pieces, length, at] = [[], 0, at + 1];
    const text = bytes.toString('utf8').trim();
    if (text !== '') yield { at, text, isUtf8: isUtf8(bytes) };
  };
  try {
    for await (const chunk of chunks) {
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
        pieces.push(chunk.subarray(start, end));
        yield* line();
        start = end + 1;
      }
      pieces.push(chunk.subarray(start));
      length += chunk.length - start;
      if (length > MAX_DOCUMENT_BYTES) throw new DamagedSource(TOO_LARGE);
    }
    yield* line();
  } catch (error) {
    if (!(error instanceof DamagedSource)) throw error;
    yield { at: at + 1, damage: error.message };
  }
}

const TOO_LARGE =
  `is neither NDJSON nor a JSON array of at most ${MAX_DOCUMENT_BYTES / 1_048_576} MiB: ` +
  "write one event on each line (jq -c '.[]')";

function* itemsOf({ at: line, text, isUtf8: isReadable }: Line): Generator<Item> {
  const value = isReadable ? jsonIn(text) : undefined;
  if (value === undefined) {
    yield { line, index: undefined, text, fault: isReadable ? 'is not JSON' : 'is not valid UTF-8' };
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) yield itemOf(line, index, element);
  } else {
    // The original text: a parsed number may lose digits.
    yield itemOf(line, undefined, value, text);
  }
}

/**
 * A line of a file of rejected events. The event in it can be sent again. The line has no `specversion`, which every event has: extension attributes of an
 * event may have the names of the other members.
 */
const rejectedLineSchema = z.object({
  specversion: z.never().optional(),
  reason: z.string(),
  line: z.number(),
  event: z.unknown(),
});

const itemOf = (line: number, index: number | undefined, value: unknown, text?: string): Item => {
  const rejected = rejectedLineSchema.safeParse(value).data?.event;
  const sent = rejected === undefined && text !== undefined ? text : jsonOf(rejected ?? value);
  if (sent === undefined) return { line, index, text: text ?? '', fault: 'is nested too deeply' };
  const isTooLarge = Buffer.byteLength(sent) > MAX_EVENT_BYTES;
  return { line, index, text: sent, fault: isTooLarge ? `is larger than ${MAX_EVENT_BYTES} bytes` : undefined };
};

/** Undefined for a value of JSON that is nested more deeply than the stack of this process allows. */
const jsonOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};
