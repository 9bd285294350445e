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
const longest = `"${'x'.repeat(62)}"`;

it.each<[string, Body, Headers, unknown]>([
  ['a list', ' [1,null,"é"]\n', {}, [1, null, 'é']],
  ['one with a byte order mark', '\uFEFF{}', {}, {}],
  ['in chunks, of a host that handed it on', '{"a":1}', CHUNKED, { a: 1 }],
  ['of as many bytes as allowed', longest, {}, 'x'.repeat(62)],
  ['of as many bytes as allowed, decompressed', gzipSync(longest), GZIP, 'x'.repeat(62)],
  ['compressed, in an old word', gzipSync('5'), { 'content-encoding': ' X-GZIP ' }, 5],
  ['not encoded, and says so', '5', { 'content-encoding': 'identity' }, 5],
])('a JSON body that is %s is read', async (_what, body, headers, value) => {
  expect(await read(body, headers)).toEqual(value);
});

it.each<[string, Body, Headers, number, ProblemCode]>([
  ['missing', '', {}, 400, 'empty_body'],
  ['missing, as it came in chunks', '', CHUNKED, 411, 'length_required'],
  ['blank', '  \n', {}, 400, 'not_json'],
  ['cut off', '[{"a":1}', {}, 400, 'not_json'],
  ['JSON and more', '{}\n{}', {}, 400, 'not_json'],
  ['Latin-1', Buffer.from('"café"', 'latin1'), {}, 400, 'not_utf8'],
  ['compressed, and does not say so', gzipSync('{}'), {}, 400, 'not_utf8'],
  ['not compressed, and says so', '{}', GZIP, 400, 'not_gzip'],
  ['compressed and cut off', gzipSync('{"a":1}').subarray(0, -3), GZIP, 400, 'not_gzip'],
  ['too large', `"${'x'.repeat(63)}"`, {}, 413, 'body_too_large'],
  ['too large in UTF-8', `"${'é'.repeat(32)}"`, {}, 413, 'body_too_large'],
  ['too large when it is decompressed', gzipSync(`"${'x'.repeat(63)}"`), GZIP, 413, 'body_too_large'],
  ['in brotli', brotliCompressSync('{}'), { 'content-encoding': 'br' }, 415, 'unsupported_encoding'],
  ['compressed twice', gzipSync(gzipSync('{}')), { 'content-encoding': 'gzip, gzip' }, 415, 'unsupported_encoding'],
])('a JSON body that is %s is refused', async (_what, body, headers, status, code) => {
  const error: unknown = await read(body, headers).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code });
  expect(PROBLEM_TYPES[code].status).toBe(status);
});

it('the encoding that is accepted is named, and no number that may be a phone number', async () => {
  const detail = 'The body has the Content-Encoding …; send gzip, or no encoding.';
  const init = { detail, headers: { 'accept-encoding': 'gzip' } };
  await expect(read('{}', { 'content-encoding': '5551234567' })).rejects.toMatchObject({ init });
});

it('a form has each parameter once', async () => {
  expect(await read('a=1&b=%2B2', {}, { format: 'form' })).toEqual({ a: '1', b: '+2' });
  await expect(read('a=1&a=2', {}, { format: 'form' })).rejects.toMatchObject({ code: 'invalid_request' });
});
