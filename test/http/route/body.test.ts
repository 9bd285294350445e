import { brotliCompressSync, gzipSync } from 'node:zlib';

import { HttpRequest } from '@azure/functions';
import { describe, expect, it } from 'vitest';

import { readBody } from '../../../src/http/route/body.ts';
import { PROBLEM_TYPES } from '../../../src/http/problem-types.ts';
import { Problem } from '../../../src/http/problem.ts';

type Body = Uint8Array | string;

const read = async (body: Body, headers: Record<string, string> = {}): Promise<unknown> => {
  const given = typeof body === 'string' ? { string: body } : { bytes: body };
  return readBody(new HttpRequest({ method: 'POST', url: 'http://localhost/api/x', headers, body: given }), {
    maxBytes: 64,
  });
};

const refusal = async (body: Body, headers?: Record<string, string>): Promise<[number, string]> => {
  const error: unknown = await read(body, headers).catch((reason: unknown) => reason);
  if (!(error instanceof Problem)) throw new Error('was not refused');
  return [PROBLEM_TYPES[error.code].status, error.message];
};

const TOO_LARGE = [413, 'The body is larger than 64 bytes.'];
const NOT_JSON = 'The body is not valid JSON.';
const NOT_UTF8 = 'The body is not valid UTF-8.';
const GZIP = { 'content-encoding': 'gzip' };

describe('a JSON body', () => {
  it.each<[string, Body, Record<string, string>, unknown]>([
    ['a list', ' [1,null,"é"]\n', {}, [1, null, 'é']],
    ['a bare value', '5', {}, 5],
    ['one with a byte order mark', '\uFEFF{}', {}, {}],
    ['of as many bytes as allowed', `"${'x'.repeat(62)}"`, {}, 'x'.repeat(62)],
    ['compressed', gzipSync('{"a":1}'), GZIP, { a: 1 }],
    ['compressed, in an old word', gzipSync('{"a":1}'), { 'content-encoding': ' X-GZIP ' }, { a: 1 }],
    ['not encoded, and says so', '{"a":1}', { 'content-encoding': 'identity' }, { a: 1 }],
    ['of as many bytes as allowed, decompressed', gzipSync(`"${'x'.repeat(62)}"`), GZIP, 'x'.repeat(62)],
  ])('that is %s is read', async (_what, body, headers, value) => {
    expect(await read(body, headers)).toEqual(value);
  });

  it('that is larger is a 413: characters are counted in UTF-8, and a bomb does not expand', async () => {
    expect(await refusal(`"${'x'.repeat(63)}"`)).toEqual(TOO_LARGE);
    expect(await refusal(`"${'é'.repeat(32)}"`)).toEqual(TOO_LARGE);
    const bomb = gzipSync(`"${'x'.repeat(63)}"`);
    expect(bomb.byteLength).toBeLessThan(64);
    expect(await refusal(bomb, GZIP)).toEqual(TOO_LARGE);
  });

  it.each<[string, Body, string]>([
    ['missing', '', 'The body is empty.'],
    ['blank', '  \n', NOT_JSON],
    ['cut off', '[{"a":1}', NOT_JSON],
    ['JSON and more', '{}{}', NOT_JSON],
    ['UTF-8 that is cut off', Uint8Array.of(0x22, 0xc3, 0x22), NOT_UTF8],
    ['Latin-1', Buffer.from('"café"', 'latin1'), NOT_UTF8],
    ['compressed, and does not say so', gzipSync('{}'), NOT_UTF8],
  ])('that is %s is refused', async (_what, body, detail) => {
    expect(await refusal(body)).toEqual([400, detail]);
  });

  it('that came in chunks, of which the host hands on nothing, is a 411 that says what to do', async () => {
    const chunked = { 'transfer-encoding': 'chunked' };
    expect(await refusal('', chunked)).toEqual([
      411,
      'The body did not arrive because it was sent in chunks. Send Content-Length.',
    ]);
    expect(await read('{"a":1}', chunked)).toEqual({ a: 1 });
  });

  it.each<[Body]>([['{}'], [gzipSync('{"a":1}').subarray(0, -3)]])(
    'that is said to be gzip and is not is refused: %#',
    async (body) => {
      expect(await refusal(body, GZIP)).toEqual([400, 'The body is not valid gzip.']);
    },
  );

  it.each([
    ['br', 'br'],
    ['gzip, gzip', 'gzip, gzip'],
    ['5551234567', '…'],
  ])('in the encoding %s is a 415 that names it and what is taken', async (encoding, named) => {
    expect(await refusal(brotliCompressSync('{}'), { 'content-encoding': encoding })).toEqual([
      415,
      `The body has the Content-Encoding ${named}; send gzip, or no encoding.`,
    ]);
  });
});
