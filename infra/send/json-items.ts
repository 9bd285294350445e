import { MAX_EVENT_BYTES } from './limits.ts';

/** One JSON value of the input: an event, or what should have been one. */
export interface Item {
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** Its position in its array, from 0; undefined where it is not in an array. */
  readonly index: number | undefined;
  /** As it is in the input. Only its beginning where it is too large. */
  readonly bytes: Buffer;
  /** Why this cannot be an event, where the boundaries of the value already show it. */
  readonly fault: string | undefined;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** 1 for a byte that changes nothing in the middle of an object: most of them, so it is worth passing over them at once. */
const IS_PLAIN = new Uint8Array(256).fill(1);
for (const byte of [LINE_FEED, QUOTE, OPEN_BRACKET, BACKSLASH, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE]) {
  IS_PLAIN[byte] = 0;
}

/** How much is kept of an item that is too large to be an event, in bytes. */
const KEPT_OF_TOO_LARGE = 1_024;

const UNFINISHED = 'ends before it is complete';
const BROKEN_STRING = 'has a line break inside a string';
const TOO_LARGE = `is larger than a request may be (${MAX_EVENT_BYTES} bytes)`;

/**
 * `nested`: an object or array, which ends at its own last bracket. `line`: anything else outside an array, which ends with its
 * line. `element`: anything else in an array, which ends at a comma, a bracket or the end of the line.
 */
type ItemKind = 'nested' | 'line' | 'element';

/**
 * Splits a stream of bytes into JSON values: NDJSON, arrays of events, single objects over many lines, and any sequence of those.
 * The values of an array on the outermost level are items of their own. It finds boundaries only; whether an item is JSON
 * is for the caller to check. How the stream is cut into chunks makes no difference. Memory is bounded: an item that is too
 * large is cut short.
 *
 * After damage it finds its way again: a new object that begins a line at the same column as an unfinished one ends the
 * unfinished one, because that is how NDJSON and printed arrays look.
 *
 * @example
 * const items = new JsonItems();
 * for await (const chunk of file) for (const item of items.push(chunk)) use(item);
 * for (const item of items.end()) use(item);
 */
export class JsonItems {
  #line = 1;
  /** Bytes since the line began, while all of them are spaces; -1 after any other byte. */
  #indent = 0;
  /** The position of the next element, while an array is open. */
  #nextIndex: number | undefined;
  #arrayLine = 0;

  #kind: ItemKind | undefined;
  #itemLine = 0;
  #itemIndent = -1;
  #itemIndex: number | undefined;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #fault: string | undefined;
  #pieces: Buffer[] = [];
  #length = 0;

  /** The items that end in this chunk. */
  push(chunk: Buffer): readonly Item[] {
    const items: Item[] = [];
    let start = 0;
    const end = (until: number): void => {
      this.#keep(chunk.subarray(start, until));
      items.push(this.#endItem());
    };
    let skipsPlainBytes = false;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (skipsPlainBytes && IS_PLAIN[byte] === 1) continue;
      if (this.#kind !== undefined && this.#endsBefore(byte)) end(at);
      if (this.#kind === undefined) {
        if (this.#begins(byte)) start = at;
      } else if (this.#closes(byte)) end(at + 1);
      this.#countLine(byte);
      skipsPlainBytes = this.#kind === 'nested' && this.#indent < 0 && !this.#isEscaped;
    }
    if (this.#kind !== undefined) this.#keep(chunk.subarray(start));
    return items;
  }

  /** What is left when the stream has ended. */
  end(): readonly Item[] {
    const items: Item[] = [];
    if (this.#kind === 'nested') this.#fault ??= UNFINISHED;
    if (this.#kind !== undefined) items.push(this.#endItem());
    if (this.#nextIndex !== undefined) {
      const fault = `the array that begins on line ${this.#arrayLine} is not closed: is the file cut off?`;
      items.push({ line: this.#line, index: this.#nextIndex, bytes: Buffer.alloc(0), fault });
    }
    return items;
  }

  /** Between items: whether an item begins with this byte. */
  #begins(byte: number): boolean {
    if (byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN || byte === LINE_FEED) return false;
    const isInArray = this.#nextIndex !== undefined;
    if (isInArray && byte === COMMA) return false;
    if (isInArray && byte === CLOSE_BRACKET) {
      this.#nextIndex = undefined;
      return false;
    }
    if (!isInArray && byte === OPEN_BRACKET) {
      this.#nextIndex = 0;
      this.#arrayLine = this.#line;
      return false;
    }
    this.#itemLine = this.#line;
    this.#itemIndent = this.#indent;
    this.#itemIndex = this.#nextIndex;
    if (this.#nextIndex !== undefined) this.#nextIndex += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#kind = 'nested';
      this.#depth = 1;
    } else {
      this.#kind = isInArray ? 'element' : 'line';
      this.#inString = byte === QUOTE;
    }
    return true;
  }

  /** In an item: whether it ends before this byte, which then is not part of it. */
  #endsBefore(byte: number): boolean {
    if (this.#kind === 'line') return byte === LINE_FEED;
    if (this.#kind === 'element') {
      return byte === LINE_FEED || (!this.#inString && (byte === COMMA || byte === CLOSE_BRACKET));
    }
    const beginsAnother = byte === OPEN_BRACE && this.#indent >= 0 && this.#indent === this.#itemIndent;
    if (beginsAnother) this.#fault ??= UNFINISHED;
    return beginsAnother;
  }

  /** In an item: takes a byte of it; whether that is its last one. */
  #closes(byte: number): boolean {
    if (this.#inString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#inString = false;
      if (byte === LINE_FEED) {
        this.#fault ??= BROKEN_STRING;
        this.#inString = false;
        this.#isEscaped = false;
      }
      return false;
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth -= 1;
    return this.#kind === 'nested' && this.#depth === 0;
  }

  #countLine(byte: number): void {
    if (byte === LINE_FEED) {
      this.#line += 1;
      this.#indent = 0;
    } else if (this.#indent >= 0) this.#indent = byte === SPACE || byte === TAB ? this.#indent + 1 : -1;
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > MAX_EVENT_BYTES && this.#fault !== TOO_LARGE) {
      this.#fault = TOO_LARGE;
      this.#pieces = [Buffer.from(Buffer.concat([...this.#pieces, piece]).subarray(0, KEPT_OF_TOO_LARGE))];
    } else if (this.#fault !== TOO_LARGE) this.#pieces.push(piece);
  }

  #endItem(): Item {
    const bytes = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
    const item = { line: this.#itemLine, index: this.#itemIndex, bytes: bytes ?? Buffer.alloc(0), fault: this.#fault };
    this.#kind = undefined;
    this.#depth = 0;
    this.#inString = false;
    this.#isEscaped = false;
    this.#fault = undefined;
    this.#pieces = [];
    this.#length = 0;
    return item;
  }
}
