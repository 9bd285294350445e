import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { itemsIn } from '../../infra/cli/send/items.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';

/** The items of an input that comes in chunks of this size. */
const split = async (input: string | Buffer, chunkBytes = Infinity) => {
  const bytes = Buffer.from(input);
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      yield await Promise.resolve(bytes.subarray(at, Math.min(at + chunkBytes, bytes.length)));
    }
  };
  return Array.fromAsync(itemsIn('events', chunks()));
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

  it('are refused if they are larger than a request, or not UTF-8', async () => {
    const [large] = await split(JSON.stringify('x'.repeat(MAX_EVENTS_BYTES)));
    expect(large?.fault).toBe('is larger than 4194302 bytes');
    const [, latin] = await split(Buffer.from('{}\n{"a":"é"}', 'latin1'));
    expect(latin?.fault).toBe('is not valid UTF-8');
  });

  it('over many lines are refused beyond 256 MiB', async () => {
    const line = Buffer.from(`${'x'.repeat(1_048_575)}\n`);
    let lines = 0;
    const endless = async function* (): AsyncGenerator<Buffer> {
      for (; ; lines += 1) yield line;
    };
    await expect(Array.fromAsync(itemsIn('events', endless()))).rejects.toThrow('256 MiB');
    expect(lines).toBe(256);
  });
});
