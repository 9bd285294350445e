import { isUtf8 } from 'node:buffer';

import { z } from 'zod';

import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { CommandError } from '../command-line.ts';

/** One JSON value of the input: an event, or what should have been one. */
export interface Item {
  /** The line on which it begins, from 1; of an array that is printed over many lines, the line of the array. */
  readonly line: number;
  /** Its index in its array, from 0; undefined if it is not in an array. */
  readonly index: number | undefined;
  /** What is sent: JSON, unless there is a fault. */
  readonly text: string;
  /** Why it cannot be sent. */
  readonly fault: string | undefined;
}

/** A request that holds one event alone is an array, so it has two brackets as well. */
const MAX_EVENT_BYTES = MAX_EVENTS_BYTES - 2;

/** The largest array or object that may be printed over many lines; NDJSON may be of any size. */
const MAX_DOCUMENT_BYTES = 256 * 1_048_576;

const LINE_FEED = 0x0a;

/**
 * The JSON values of an input. It is NDJSON if its first line is a JSON value of its own: then each line is an event or an array of
 * them, and a damaged line costs itself alone. Else it is one array or object over many lines, which is read whole.
 *
 * @throws {CommandError} if it is neither and too large to be read whole
 */
export async function* itemsIn(name: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Item> {
  const held: { readonly bytes: Buffer; readonly at: number }[] = [];
  let heldBytes = 0;
  let line = 0;
  let firstLine: number | undefined;
  let isByLine = false;
  for await (const bytes of linesOf(name, chunks)) {
    line += 1;
    if (isBlank(bytes)) continue;
    if (firstLine === undefined) {
      firstLine = line;
      isByLine = parsed(bytes.toString('utf8')) !== undefined;
    }
    if (isByLine) yield* itemsOfText(bytes, line);
    else {
      held.push({ bytes, at: line });
      heldBytes += bytes.length + 1;
      if (heldBytes > MAX_DOCUMENT_BYTES) throw tooLargeDocument(name);
    }
  }
  if (isByLine || firstLine === undefined) return;
  const whole = Buffer.concat(held.flatMap(({ bytes }) => [bytes, Buffer.from('\n')]));
  if (parsed(whole.toString('utf8')) !== undefined) yield* itemsOfText(whole, firstLine);
  else for (const { bytes, at } of held) yield* itemsOfText(bytes, at);
}

/** The lines of a stream of bytes, without their ends: not Node's `readline`, which also splits at U+2028, valid inside JSON. */
async function* linesOf(name: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      pieces.push(chunk.subarray(start, end));
      yield pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      length = 0;
      start = end + 1;
    }
    pieces.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MAX_DOCUMENT_BYTES) throw tooLargeDocument(name);
  }
  if (length > 0) yield Buffer.concat(pieces);
}

const tooLargeDocument = (name: string): CommandError =>
  new CommandError(
    `${name} is neither NDJSON nor a JSON array of at most ${MAX_DOCUMENT_BYTES / 1_048_576} MiB. ` +
      `Write one event on each line: jq -c '.[]' ${name} > events.ndjson`,
  );

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function* itemsOfText(bytes: Buffer, line: number): Generator<Item> {
  if (isBlank(bytes)) return;
  const text = bytes.toString('utf8').trim();
  const value = isUtf8(bytes) ? parsed(text) : undefined;
  if (value === undefined) {
    yield { line, index: undefined, text, fault: isUtf8(bytes) ? 'is not JSON' : 'is not valid UTF-8' };
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) yield itemOf(line, index, JSON.stringify(element), element);
  } else {
    // As it came: no number loses digits.
    yield itemOf(line, undefined, text, value);
  }
}

/** What a file of rejected events holds on each line; the event in it can be sent again. */
const rejectedLineSchema = z.object({ reason: z.string(), line: z.number(), event: z.unknown() });

const itemOf = (line: number, index: number | undefined, text: string, value: unknown): Item => {
  const rejected = rejectedLineSchema.safeParse(value).data?.event;
  const sent = rejected === undefined ? text : JSON.stringify(rejected);
  const isTooLarge = Buffer.byteLength(sent) > MAX_EVENT_BYTES;
  return { line, index, text: sent, fault: isTooLarge ? `is larger than ${MAX_EVENT_BYTES} bytes` : undefined };
};
