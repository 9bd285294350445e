import { expect, it } from 'vitest';
import * as z from 'zod';

import { acceptsGzip, isKnown } from '../../../src/http/route/conditional.ts';
import { Problem } from '../../../src/http/problem.ts';
import { get as route } from '../../../src/http/route/route.ts';
import { ask } from '../asking.ts';

/** The answer of a conditional route with this text; a problem if the text is empty. */
const get = async (text: string, headers: Readonly<Record<string, string>> = {}) => {
  const { handler } = route('Text', 'text', {
    authLevel: 'anonymous',
    operationId: 'getText',
    tag: 'service',
    summary: 'A text',
    query: 'any',
    conditional: true,
    answers: { 200: { description: 'The text.', schema: z.strictObject({ text: z.string() }), hasTable: true } },
    handle: () => {
      if (text === '') throw new Problem('storage_unavailable');
      return { status: 200, jsonBody: { text }, csv: () => [['text'], [text]] };
    },
  });
  return ask(handler, '/api/text', { headers });
};

it('a conditional answer has a strong tag of its body, and may be kept by its caller alone', async () => {
  const { status, headers, body } = await get('short', { 'accept-encoding': 'gzip' });
  expect([status, body, Object.fromEntries(headers)]).toEqual([
    200,
    { text: 'short' },
    {
      'content-type': 'application/json',
      'cache-control': 'private, no-cache',
      vary: 'Accept, Accept-Encoding',
      etag: expect.stringMatching(/^"[\w-]{43}"$/),
      'x-request-id': 'unknown',
    },
  ]);
});

it('a conditional answer has a tag of its own in each form, and changes with the body', async () => {
  const [gzip, text] = [{ 'accept-encoding': 'gzip, br' }, 'x'.repeat(2_000)];
  const zipped = await get(text, gzip);
  expect([zipped.headers.get('content-encoding'), zipped.body]).toEqual(['gzip', { text }]);
  const tag = zipped.headers.get('etag') ?? '';
  const others = [await get(text), await get(text, { accept: 'text/csv' })].map(({ headers }) => headers.get('etag'));
  expect(new Set([tag, ...others]).size).toBe(3);
  expect((await get(text, { ...gzip, 'if-none-match': tag })).status).toBe(304);
  expect((await get(`${text}x`, { ...gzip, 'if-none-match': tag })).status).toBe(200);
});

it('a conditional answer never replaces a problem', async () => {
  const { status, headers } = await get('', { 'if-none-match': '*' });
  expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([503, null, null]);
});

it.each<[isCsv: boolean, ...accepted: string[]]>([
  [true, 'text/csv', 'text/csv, */*;q=0.5', 'application/json;q=0.9, text/csv', 'text/csv, application/json'],
  [false, 'application/json, text/csv', 'text/csv;q=0', '*/*'],
])('the answer is CSV: %s for Accept: %s', async (isCsv, ...accepted) => {
  for (const accept of accepted) {
    const { headers, body } = await get('short', { accept });
    const [type, text] = isCsv
      ? ['text/csv; charset=utf-8', 'text\r\nshort\r\n']
      : ['application/json', { text: 'short' }];
    expect([accept, headers.get('content-type'), body]).toEqual([accept, type, text]);
  }
});

it.each<[knows: boolean, ...values: (string | null)[]]>([
  [true, '"a"', 'W/"a"', ' * ', '"b","a","c"', 'W/"b" , W/"a"', '"x,y", "a"', ',, "a" ,'],
  [false, null, '', 'a', '"A"', '"b"', '"aa"', "'a'", '"x, "', '"*"', '**', '"', '"a'],
])('If-None-Match knows the tag "a": %s for %j', (knows, ...values) => {
  for (const value of values) expect({ value, knows: isKnown(value, '"a"') }).toEqual({ value, knows });
});

it.each<[takes: boolean, ...values: (string | null)[]]>([
  [true, 'gzip', 'deflate, GZIP;q=0.5'],
  [false, null, 'br', 'gzip;q=0', 'gzip; q=0.0, br'],
])('Accept-Encoding accepts gzip: %s for %j', (takes, ...values) => {
  for (const value of values) expect({ value, takes: acceptsGzip(value) }).toEqual({ value, takes });
});
