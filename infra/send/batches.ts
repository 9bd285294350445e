import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';

import { z } from 'zod';

import type { Input } from './input.ts';
import { type Item, JsonItems } from './json-items.ts';
import { MAX_EVENT_BYTES, MAX_REQUEST_BYTES } from './limits.ts';
import { CommandError } from '../command-line.ts';

/** An item that is JSON, so that the service can judge it. */
export interface Entry {
  readonly item: Item;
  /** What is sent. */
  readonly json: Buffer;
}

/** An item that is not recorded, and why. */
export interface Rejection {
  readonly item: Item;
  readonly reason: string;
}

/** Where in the input something ends: what is needed to go on from there. */
export interface Position {
  /** Items up to here, sent or not. */
  readonly items: number;
  /** SHA-256 of their bytes, hexadecimal: tells whether the input still begins like this. */
  readonly digest: string;
}

/** Consecutive items of the input. */
export interface Batch {
  readonly entries: readonly Entry[];
  /** Items of this stretch that are not JSON. */
  readonly malformed: readonly Rejection[];
  /** Where it ends. */
  readonly end: Position;
  /** Bytes of the input that had been read when it was complete. */
  readonly bytesRead: number;
}

/** The start of every input. */
export const BEGINNING: Position = { items: 0, digest: createHash('sha256').digest('hex') };

/** What a file of rejected events holds on each line; the event in it can be sent again. */
const rejectedLineSchema = z.object({ reason: z.string(), line: z.number(), event: z.unknown() });

/**
 * The input in batches: at most `maxEvents` items each, and as many as fit in a request.
 *
 * @param from what an earlier run has done: those items are passed over
 * @param stop ends the batches early; what was read for an unfinished batch is dropped
 * @throws {CommandError} where the input does not begin as it did in that run
 */
export async function* readBatches(
  input: Input,
  maxEvents: number,
  from: Position,
  stop: AbortSignal,
): AsyncGenerator<Batch> {
  const seen = createHash('sha256');
  let items = 0;
  let entries: Entry[] = [];
  let malformed: Rejection[] = [];
  let bytes = 2;

  const cut = (): Batch => {
    const batch = { entries, malformed, end: positionOf(items, seen), bytesRead: input.bytesRead() };
    entries = [];
    malformed = [];
    bytes = 2;
    return batch;
  };

  for await (const item of itemsOf(input, stop)) {
    if (items >= from.items) {
      const checked = check(item);
      const isFull = 'json' in checked && bytes + checked.json.length + 1 > MAX_REQUEST_BYTES;
      if (isFull || entries.length + malformed.length >= maxEvents) yield cut();
      if ('json' in checked) {
        entries.push(checked);
        bytes += checked.json.length + 1;
      } else malformed.push(checked);
    }
    // The separator keeps ["ab"] and ["a","b"] apart.
    seen.update(item.bytes).update('\n');
    items += 1;
    if (items === from.items && positionOf(items, seen).digest !== from.digest) throw changed();
  }
  if (stop.aborted) return;
  if (items < from.items) throw changed();
  if (entries.length + malformed.length > 0) yield cut();
}

async function* itemsOf({ chunks }: Input, stop: AbortSignal): AsyncGenerator<Item> {
  const splitter = new JsonItems();
  for await (const chunk of chunks) yield* splitter.push(chunk);
  // After a stop the last item is unfinished only because reading was ended.
  if (!stop.aborted) yield* splitter.end();
}

const positionOf = (items: number, seen: Hash): Position => ({ items, digest: seen.copy().digest('hex') });

const changed = (): CommandError =>
  new CommandError(
    'The input has changed in the part that was sent already, so there is no place to go on from. ' +
      'Send all of it again with --from-start: what is recorded already changes nothing.',
  );

const check = (item: Item): Entry | Rejection => {
  if (item.fault !== undefined) return { item, reason: item.fault };
  if (!isUtf8(item.bytes)) return { item, reason: 'is not valid UTF-8' };
  let value: unknown;
  try {
    value = JSON.parse(item.bytes.toString('utf8'));
  } catch {
    return { item, reason: 'is not JSON' };
  }
  const json = toSend(item, value);
  return json.length > MAX_EVENT_BYTES ? { item, reason: `is larger than ${MAX_EVENT_BYTES} bytes` } : { item, json };
};

const toSend = (item: Item, value: unknown): Buffer => {
  const isEvent = typeof value === 'object' && value !== null && 'specversion' in value;
  if (isEvent) return item.bytes;
  const { success, data } = rejectedLineSchema.safeParse(value);
  return success && data.event !== undefined ? Buffer.from(JSON.stringify(data.event)) : item.bytes;
};
