import { isUtf8 } from 'node:buffer';
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { z } from 'zod';

import { MAX_EVENTS_BYTES } from '../../../src/http/event-batch.ts';
import { CommandError } from '../command-line.ts';
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
}

/** A request with one event is an array, which has two brackets. */
const MAX_EVENT_BYTES = MAX_EVENTS_BYTES - 2;

/** The largest array or object that may be printed over many lines; NDJSON may be of any size. */
const MAX_DOCUMENT_BYTES = 256 * 1_048_576;

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const UTF16_MARKS = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];
const LINE_FEED = 0x0a;

/**
 * The items of a stream. Its first two bytes tell whether it is gzip, not its name.
 *
 * @param name of the source, for messages
 * @param stop ends reading at once; its reason is thrown
 * @throws {CommandError} during reading, if the stream fails, its gzip is damaged, or it is UTF-16
 */
export const readItems = (name: string, stream: Readable, stop: AbortSignal): AsyncGenerator<Item> =>
  itemsIn(name, bytesOf(name, stream, stop));

async function* bytesOf(name: string, raw: Readable, stop: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* unpacked(buffersOf(addAbortSignal(stop, raw)));
  } catch (error) {
    stop.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw stoppedError(`${name} stopped being readable: ${reason}.`, error);
  }
}

async function* buffersOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) if (Buffer.isBuffer(chunk)) yield chunk;
}

async function* unpacked(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < GZIP_MAGIC.length) {
    const next = await chunks.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield head;
    yield* chunks;
  };
  if (!head.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) return yield* whole();
  const gunzip = createGunzip();
  // The loop below throws the error of any stream: a pipeline destroys all its streams with the error.
  pipeline(Readable.from(whole(), { objectMode: false }), gunzip, () => undefined);
  yield* buffersOf(gunzip);
}

/**
 * The JSON values of an input. It is NDJSON if its first line is a JSON value: then each line is an event or an array of events, and a damaged line
 * affects only itself. Otherwise it is one array or object over many lines, which is read into memory.
 *
 * @throws {CommandError} if it is no NDJSON and too large for memory, or if it is UTF-16
 */
export async function* itemsIn(name: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Item> {
  const held: Line[] = [];
  let heldBytes = 0;
  let isByLine: boolean | undefined;
  for await (const line of linesOf(name, chunks)) {
    isByLine ??= jsonIn(line.text) !== undefined;
    if (isByLine) yield* itemsOf(line);
    else {
      held.push(line);
      heldBytes += Buffer.byteLength(line.text) + 1;
      if (heldBytes > MAX_DOCUMENT_BYTES) throw tooLargeDocument(name);
    }
  }
  const [first] = held;
  if (first === undefined) return;
  const whole = held.map(({ text }) => text).join('\n');
  if (jsonIn(whole) === undefined) for (const line of held) yield* itemsOf(line);
  else yield* itemsOf({ at: first.at, text: whole, isUtf8: held.every((line) => line.isUtf8) });
}

interface Line {
  readonly at: number;
  /** Without blanks at its ends, and without a byte order mark, which `trim` also removes. */
  readonly text: string;
  readonly isUtf8: boolean;
}

/** The lines of a stream of bytes that are not blank: not Node's `readline`, which also splits at U+2028, valid inside JSON. */
async function* linesOf(name: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let pieces: Buffer[] = [];
  let length = 0;
  let at = 0;
  const line = function* (): Generator<Line> {
    const bytes = Buffer.concat(pieces);
    [pieces, length, at] = [[], 0, at + 1];
    if (at === 1 && UTF16_MARKS.some((mark) => bytes.subarray(0, mark.length).equals(mark))) {
      throw new CommandError(`${name} is UTF-16. Write it as UTF-8; in PowerShell: Out-File -Encoding utf8.`);
    }
    const text = bytes.toString('utf8').trim();
    if (text !== '') yield { at, text, isUtf8: isUtf8(bytes) };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      pieces.push(chunk.subarray(start, end));
      yield* line();
      start = end + 1;
    }
    pieces.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MAX_DOCUMENT_BYTES) throw tooLargeDocument(name);
  }
  yield* line();
}

const tooLargeDocument = (name: string): CommandError =>
  new CommandError(
    `${name} is neither NDJSON nor a JSON array of at most ${MAX_DOCUMENT_BYTES / 1_048_576} MiB. ` +
      `Write one event on each line: jq -c '.[]' ${name} > events.ndjson`,
  );

function* itemsOf({ at: line, text, isUtf8: isReadable }: Line): Generator<Item> {
  const value = isReadable ? jsonIn(text) : undefined;
  if (value === undefined) {
    yield { line, index: undefined, text, fault: isReadable ? 'is not JSON' : 'is not valid UTF-8' };
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) yield itemOf(line, index, JSON.stringify(element), element);
  } else {
    // The original text: a parsed number may lose digits.
    yield itemOf(line, undefined, text, value);
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

const itemOf = (line: number, index: number | undefined, text: string, value: unknown): Item => {
  const rejected = rejectedLineSchema.safeParse(value).data?.event;
  const sent = rejected === undefined ? text : JSON.stringify(rejected);
  const isTooLarge = Buffer.byteLength(sent) > MAX_EVENT_BYTES;
  return { line, index, text: sent, fault: isTooLarge ? `is larger than ${MAX_EVENT_BYTES} bytes` : undefined };
};
