import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';

import { acceptsGzip, isKnown } from '../../../src/http/route/conditional.ts';
import { Problem } from '../../../src/http/problem.ts';
import { get as route } from '../../../src/http/route/route.ts';
import { ask } from '../asking.ts';

let text = '';
beforeEach(() => {
  text = 'short';
});

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

const get = async (headers: Readonly<Record<string, string>> = {}) => ask(handler, '/api/text', { headers });

describe('a conditional answer', () => {
  it('has a strong tag of its body, and may be kept by its caller alone', async () => {
    const { status, headers, body } = await get();
    expect([status, body]).toEqual([200, { text }]);
    const said = ['content-type', 'cache-control', 'vary'].map((name) => headers.get(name));
    expect(said).toEqual(['application/json', 'private, no-cache', 'Accept, Accept-Encoding']);
    expect(headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
  });

  it('never replaces a problem', async () => {
    text = '';
    const { status, headers } = await get({ 'if-none-match': '*' });
    expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([503, null, null]);
  });

  it.each([
    ['text/csv', true],
    ['text/csv, */*;q=0.5', true],
    ['application/json;q=0.9, text/csv', true],
    ['text/csv, application/json', true],
    ['application/json, text/csv', false],
    ['text/csv;q=0', false],
    ['*/*', false],
  ])('for Accept: %s is CSV: %s', async (accept, isCsv) => {
    const { headers, body } = await get({ accept });
    const json = ['application/json', { text }];
    expect([headers.get('content-type'), body]).toEqual(
      isCsv ? ['text/csv; charset=utf-8', 'text\r\nshort\r\n'] : json,
    );
  });

  it('has a tag of its own in each form, and changes with the body; a short one is not compressed', async () => {
    const GZIP = { 'accept-encoding': 'gzip, br' };
    expect((await get(GZIP)).headers.get('content-encoding')).toBeNull();
    text = 'x'.repeat(2_000);
    const zipped = await get(GZIP);
    expect([zipped.headers.get('content-encoding'), zipped.body]).toEqual(['gzip', { text }]);
    const tag = zipped.headers.get('etag') ?? '';
    const others = [await get(), await get({ accept: 'text/csv' })].map(({ headers }) => headers.get('etag'));
    expect(new Set([tag, ...others]).size).toBe(3);
    expect((await get({ ...GZIP, 'if-none-match': tag })).status).toBe(304);
    text += 'x';
    expect((await get({ ...GZIP, 'if-none-match': tag })).status).toBe(200);
  });
});

it.each<[knows: boolean, values: (string | null)[]]>([
  [true, ['"a"', 'W/"a"', ' * ', '"b","a","c"', 'W/"b" , W/"a"', '"x,y", "a"', ',, "a" ,']],
  [false, [null, '', 'a', '"A"', '"b"', '"aa"', "'a'", '"x, "', '"*"', '**', '"', '"a']],
])('If-None-Match knows the tag "a": %s for %j', (knows, values) => {
  for (const value of values) expect({ value, knows: isKnown(value, '"a"') }).toEqual({ value, knows });
});

it.each<[takes: boolean, values: (string | null)[]]>([
  [true, ['gzip', 'deflate, GZIP;q=0.5']],
  [false, [null, 'br', 'gzip;q=0', 'gzip; q=0.0, br']],
])('Accept-Encoding accepts gzip: %s for %j', (takes, values) => {
  for (const value of values) expect({ value, takes: acceptsGzip(value) }).toEqual({ value, takes });
});
