import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { constants, gunzipSync, gzipSync } from 'node:zlib';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { itemsIn, readItems } from '../../infra/cli/send/items.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { all } from '../analytics/counting.ts';

/** The items of an input that comes in chunks of this size. */
const split = async (input: string | Buffer, chunkBytes = Infinity) => {
  const bytes = Buffer.from(input);
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      yield await Promise.resolve(bytes.subarray(at, Math.min(at + chunkBytes, bytes.length)));
    }
  };
  return Array.fromAsync(itemsIn(chunks()));
};

const good = (line: number, text: string, index?: number) => ({ line, index, text, fault: undefined });
const bad = (line: number, text: string) => ({ line, index: undefined, text, fault: 'is not JSON' });

describe('the items of a file', () => {
  it.each<[string, string, readonly object[]]>([
    [
      'its lines, if it is NDJSON',
      '\uFEFF{"a":1}\n{"b":[2]}\r\n\n{"d":"}\\"{\u2028"}',
      [good(1, '{"a":1}'), good(2, '{"b":[2]}'), good(4, '{"d":"}\\"{\u2028"}')],
    ],
    ['the elements of its array', '\n[{"a":1}, 7]', [good(2, '{"a":1}', 0), good(2, '7', 1)]],
    ['the elements of a batch a line', '[{"a":1}]\n[]\n[2]', [good(1, '{"a":1}', 0), good(3, '2', 0)]],
    [
      'the elements of an array over many lines',
      '[\n  {\n "a": 1 },\n{}\n]\n',
      [good(1, '{"a":1}', 0), good(1, '{}', 1)],
    ],
    ['one object over many lines', '{\n"a": 1\n}\n', [good(1, '{\n"a": 1\n}')]],
    ['nothing, if it is blank', ' \n\t\n', []],
    [
      'its lines, if the first is damaged',
      '{"half":\n{"a":1}\nno',
      [bad(1, '{"half":'), good(2, '{"a":1}'), bad(3, 'no')],
    ],
    ['rejected events of an earlier run', '{"reason":"?","line":3,"event":{"a":1}}', [good(1, '{"a":1}')]],
  ])('are %s', async (_, text, items) => {
    expect(await split(text)).toEqual(items);
  });

  it('are the same however the bytes come in chunks', async () => {
    const text = '{"a":"é🔥"}\n\n[1,{"b":2}]\nwrong\n{"c":3}';
    const whole = await split(text);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), async (chunkBytes) => {
        expect(await split(text, chunkBytes)).toEqual(whole);
      }),
    );
  });

  it('are refused if they are larger than a request, not UTF-8, or nested without end', async () => {
    const [large] = await split(JSON.stringify('x'.repeat(MAX_EVENTS_BYTES)));
    expect(large?.fault).toBe('is larger than 4194302 bytes');
    const [, latin] = await split(Buffer.from('{}\n{"a":"é"}', 'latin1'));
    expect(latin?.fault).toBe('is not valid UTF-8');
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const line of [`[${deep}]`, `{"reason":"?","line":1,"event":${deep}}`]) {
      expect((await split(`${line}\n{}`)).map(({ fault }) => fault)).toEqual(['is nested too deeply', undefined]);
    }
  });

  it('over many lines are one fault beyond 256 MiB, which are not read', async () => {
    const line = Buffer.from(`${'x'.repeat(1_048_575)}\n`);
    let lines = 0;
    const endless = async function* (): AsyncGenerator<Buffer> {
      for (; ; lines += 1) yield line;
    };
    const items = await Array.fromAsync(itemsIn(endless()));
    expect(items).toMatchObject([{ line: 1, text: '', fault: expect.stringContaining('256 MiB'), isEnd: true }]);
    expect(lines).toBe(256);
  });

  it('are, of a file of gzip that was cut anywhere, the lines that it still has, and the fault of the next line', async () => {
    // Hashes do not shrink much: so the unpacked lines arrive while the file is read.
    const lines = all(3_000).map((at) => JSON.stringify(createHash('sha256').update(`${at}`).digest('hex')));
    const packed = gzipSync(`${lines.join('\n')}\n`);
    for (let length = 11; length < packed.length; length += 3_001) {
      const cut = packed.subarray(0, length);
      const left = gunzipSync(cut, { finishFlush: constants.Z_SYNC_FLUSH }).toString().split('\n').length - 1;
      const bytes = Readable.from([cut], { objectMode: false });
      // The reader is slower than the file, so unpacked lines wait for it.
      const reading = readItems('cut.gz', bytes, new AbortController().signal);
      const items = await Array.fromAsync(reading, async (item) => setImmediate(item));
      const fault = expect.stringContaining('damaged gzip');
      expect(items.pop()).toMatchObject({ line: left + 1, isEnd: true, fault });
      expect(items).toEqual(lines.slice(0, left).map((one, at) => good(at + 1, one)));
    }
  });

  it.each<[string, Buffer, number, string]>([
    ['UTF-16', Buffer.from('\uFEFF{}\n{}', 'utf16le'), 1, 'UTF-16'],
    ['UTF-16 of a file of gzip', gzipSync(Buffer.from('\uFEFF{}', 'utf16le')), 1, 'UTF-16'],
    ['gzip, and was cut before its first byte', Buffer.alloc(0), 1, 'is empty, which is no gzip'],
    ['gzip with another text after it', Buffer.concat([gzipSync('{}\n'), Buffer.from('{}\n')]), 1, 'damaged gzip'],
  ])('end with the fault of a file that is %s', async (_, bytes, line, fault) => {
    const items = readItems('file.gz', Readable.from([bytes], { objectMode: false }), new AbortController().signal);
    expect((await Array.fromAsync(items)).at(-1)).toMatchObject({
      line,
      isEnd: true,
      fault: expect.stringContaining(fault),
    });
  });
});
