import { brotliCompressSync, gzipSync } from 'node:zlib';

import { HttpRequest } from '@azure/functions';
import { expect, it } from 'vitest';

import { readBody } from '../../../src/http/route/body.ts';
import { Problem } from '../../../src/http/problem.ts';
import { PROBLEM_TYPES, type ProblemCode } from '../../../src/http/problem-types.ts';

type Body = Uint8Array | string;
type Headers = Record<string, string>;

const read = async (body: Body, headers: Headers = {}, format: { format?: 'form' } = {}): Promise<unknown> => {
  const given = typeof body === 'string' ? { string: body } : { bytes: body };
  const request = new HttpRequest({ method: 'POST', url: 'http://localhost/api/x', headers, body: given });
  return readBody(request, { maxBytes: 64, ...format });
};

const GZIP = { 'content-encoding': 'gzip' };
const CHUNKED = { 'transfer-encoding': 'chunked' };
/** Others are 400. */
const STATUS: Partial<Record<ProblemCode, number>> = {
  length_required: 411,
  body_too_large: 413,
  unsupported_encoding: 415,
};

const longest = `"${'x'.repeat(62)}"`;

it.each<[string, Body, Headers, unknown]>([
  ['a list', ' [1,null,"é"]\n', {}, [1, null, 'é']],
  ['a bare value', '5', {}, 5],
  ['one with a byte order mark', '\uFEFF{}', {}, {}],
  ['in chunks, of a host that handed it on', '{"a":1}', CHUNKED, { a: 1 }],
  ['of as many bytes as allowed', longest, {}, 'x'.repeat(62)],
  ['of as many bytes as allowed, decompressed', gzipSync(longest), GZIP, 'x'.repeat(62)],
  ['compressed, in an old word', gzipSync('{"a":1}'), { 'content-encoding': ' X-GZIP ' }, { a: 1 }],
  ['not encoded, and says so', '{"a":1}', { 'content-encoding': 'identity' }, { a: 1 }],
])('a JSON body that is %s is read', async (_what, body, headers, value) => {
  expect(await read(body, headers)).toEqual(value);
});

it.each<[string, Body, Headers, ProblemCode]>([
  ['missing', '', {}, 'empty_body'],
  ['missing, as it came in chunks', '', CHUNKED, 'length_required'],
  ['blank', '  \n', {}, 'not_json'],
  ['cut off', '[{"a":1}', {}, 'not_json'],
  ['JSON and more', '{}{}', {}, 'not_json'],
  ['UTF-8 that is cut off', Uint8Array.of(0x22, 0xc3, 0x22), {}, 'not_utf8'],
  ['Latin-1', Buffer.from('"café"', 'latin1'), {}, 'not_utf8'],
  ['compressed, and does not say so', gzipSync('{}'), {}, 'not_utf8'],
  ['not compressed, and says so', '{}', GZIP, 'not_gzip'],
  ['compressed and cut off', gzipSync('{"a":1}').subarray(0, -3), GZIP, 'not_gzip'],
  ['too large', `"${'x'.repeat(63)}"`, {}, 'body_too_large'],
  ['too large in UTF-8', `"${'é'.repeat(32)}"`, {}, 'body_too_large'],
  ['too large when it is decompressed', gzipSync(`"${'x'.repeat(63)}"`), GZIP, 'body_too_large'],
  ['in brotli', brotliCompressSync('{}'), { 'content-encoding': 'br' }, 'unsupported_encoding'],
  ['compressed twice', gzipSync(gzipSync('{}')), { 'content-encoding': 'gzip, gzip' }, 'unsupported_encoding'],
])('a JSON body that is %s is refused', async (_what, body, headers, code) => {
  const error: unknown = await read(body, headers).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code });
  expect(PROBLEM_TYPES[code].status).toBe(STATUS[code] ?? 400);
});

it('the encoding that is accepted is named, and no number that may be a phone number', async () => {
  const error: unknown = await read('{}', { 'content-encoding': '5551234567' }).catch((reason: unknown) => reason);
  const detail = 'The body has the Content-Encoding …; send gzip, or no encoding.';
  expect(error).toMatchObject({ init: { detail, headers: { 'accept-encoding': 'gzip' } } });
});

it('a form has each parameter once', async () => {
  expect(await read('a=1&b=%2B2', {}, { format: 'form' })).toEqual({ a: '1', b: '+2' });
  await expect(read('a=1&a=2', {}, { format: 'form' })).rejects.toMatchObject({ code: 'invalid_request' });
});
