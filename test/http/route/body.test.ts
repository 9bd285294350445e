import { brotliCompressSync, gzipSync } from 'node:zlib';

import { HttpRequest } from '@azure/functions';
import { describe, expect, it } from 'vitest';

import { readJson } from '../../../src/http/route/body.ts';
import { Problem } from '../../../src/http/problem.ts';

const read = async (body: Uint8Array | string, headers: Record<string, string> = {}): Promise<unknown> =>
  readJson(
    new HttpRequest({
      method: 'POST',
      url: 'http://localhost/api/x',
      headers,
      body: typeof body === 'string' ? { string: body } : { bytes: body },
    }),
    64,
  );

const refusal = async (body: Uint8Array | string, headers?: Record<string, string>): Promise<[number, string]> => {
  const error: unknown = await read(body, headers).catch((reason: unknown) => reason);
  if (!(error instanceof Problem)) throw new Error('was not refused');
  return [error.status, error.init.detail];
};

describe('a JSON body', () => {
  it.each<[string, string, unknown]>([
    ['an object', '{"a":[1,null,"é"]}', { a: [1, null, 'é'] }],
    ['a list', ' [1]\n', [1]],
    ['a bare value', '5', 5],
    ['one with a byte order mark', '\uFEFF{}', {}],
  ])('that is %s is read', async (_what, text, value) => {
    expect(await read(text)).toEqual(value);
  });

  it('may have so many bytes and not one more; characters are counted in UTF-8', async () => {
    expect(await read(`"${'x'.repeat(62)}"`)).toBe('x'.repeat(62));
    expect(await refusal(`"${'x'.repeat(63)}"`)).toEqual([413, 'The body is larger than 64 bytes.']);
    expect(await refusal(`"${'é'.repeat(32)}"`)).toEqual([413, 'The body is larger than 64 bytes.']);
  });

  it('that is announced as too large is not read at all', async () => {
    expect(await refusal('{}', { 'content-length': '65' })).toEqual([413, 'The body is larger than 64 bytes.']);
  });

  it.each<[string, Uint8Array | string, string]>([
    ['missing', '', 'The body is empty.'],
    ['blank', '  \n', 'The body is not valid JSON.'],
    ['no JSON', 'fire', 'The body is not valid JSON.'],
    ['cut off', '[{"a":1}', 'The body is not valid JSON.'],
    ['JSON with a comma too much', '[1,]', 'The body is not valid JSON.'],
    ['JSON with single quotes', "{'a':1}", 'The body is not valid JSON.'],
    ['NaN', '[NaN]', 'The body is not valid JSON.'],
    ['JSON and more', '{}{}', 'The body is not valid JSON.'],
    ['a form', 'a=1&b=2', 'The body is not valid JSON.'],
    ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), 'The body is not valid UTF-8.'],
    ['UTF-8 that is cut off', Uint8Array.of(0x22, 0xc3, 0x22), 'The body is not valid UTF-8.'],
    ['a surrogate in UTF-8', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), 'The body is not valid UTF-8.'],
    ['a long form of a character', Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), 'The body is not valid UTF-8.'],
    ['UTF-16', Buffer.from('\uFEFF{"a":1}', 'utf16le'), 'The body is not valid UTF-8.'],
    ['Latin-1', Buffer.from('"café"', 'latin1'), 'The body is not valid UTF-8.'],
    ['compressed', Uint8Array.of(0x1f, 0x8b, 0x08, 0x00), 'The body is not valid UTF-8.'],
  ])('that is %s is refused', async (_what, body, detail) => {
    expect(await refusal(body)).toEqual([400, detail]);
  });

  const gzip = { 'content-encoding': 'gzip' };

  it('may come compressed with gzip, and no encoding at all is the same as identity', async () => {
    expect(await read(gzipSync('{"a":1}'), gzip)).toEqual({ a: 1 });
    expect(await read(gzipSync('{"a":1}'), { 'content-encoding': ' X-GZIP ' })).toEqual({ a: 1 });
    expect(await read('{"a":1}', { 'content-encoding': 'identity' })).toEqual({ a: 1 });
  });

  it('may have no more bytes decompressed than it may have otherwise', async () => {
    const bomb = gzipSync(`"${'x'.repeat(63)}"`);
    expect(bomb.byteLength).toBeLessThan(64);
    expect(await read(gzipSync(`"${'x'.repeat(62)}"`), gzip)).toBe('x'.repeat(62));
    expect(await refusal(bomb, gzip)).toEqual([413, 'The body is larger than 64 bytes.']);
  });

  it.each([
    ['no gzip', '{}'],
    ['gzip that is cut off', gzipSync('{"a":1}').subarray(0, -3)],
  ])('that is said to be gzip and is %s is refused', async (_what, body) => {
    expect(await refusal(body, gzip)).toEqual([400, 'The body is not valid gzip.']);
  });

  it.each([
    ['br', 'br'],
    ['gzip, gzip', 'gzip, gzip'],
    ['5551234567', '…'],
  ])('in the encoding %s is a 415 that names it and what is taken', async (encoding, named) => {
    expect(await refusal(brotliCompressSync('{}'), { 'content-encoding': encoding })).toEqual([
      415,
      `The body has the Content-Encoding ${named}; only gzip is taken, or none.`,
    ]);
  });
});
