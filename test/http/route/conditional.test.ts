import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';

import { acceptsGzip, isKnown } from '../../../src/http/route/conditional.ts';
import { Problem } from '../../../src/http/problem.ts';
import { operation, route } from '../../../src/http/route/route.ts';
import { ask } from '../asking.ts';

let [count, filler] = [1, ''];
beforeEach(() => {
  [count, filler] = [1, ''];
});

const { handler } = route({
  name: 'Counted',
  path: 'counted',
  authLevel: 'anonymous',
  GET: operation({
    operationId: 'getCounted',
    tag: 'service',
    summary: 'A count',
    query: 'any',
    conditional: true,
    answers: {
      200: {
        description: 'The count.',
        schema: z.strictObject({ count: z.number(), filler: z.string() }),
        csv: 'count\r\n1\r\n',
      },
    },
    handle: () => {
      if (count < 0) throw new Problem('storage_unavailable', { detail: 'Not now.' });
      return { status: 200, jsonBody: { count, filler }, csv: () => [['count'], [count]] };
    },
  }),
});

const get = async (headers: Readonly<Record<string, string>> = {}) => ask(handler, '/api/counted', { headers });
const tagNow = async (): Promise<string> => (await get()).headers.get('etag') ?? '';

describe('a conditional answer', () => {
  it('has a strong tag of its body, and may be kept by whoever asked', async () => {
    const { status, headers, body } = await get();
    expect([status, body, headers.get('content-type')]).toEqual([200, { count, filler }, 'application/json']);
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
  });

  it('is never in the place of a problem', async () => {
    count = -1;
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
  ])('for %s is CSV: %s', async (accept, isCsv) => {
    const { headers, body } = await get({ accept });
    expect([headers.get('content-type'), body]).toEqual(
      isCsv ? ['text/csv; charset=utf-8', 'count\r\n1\r\n'] : ['application/json', { count, filler }],
    );
    expect(headers.get('vary')).toBe('Accept, Accept-Encoding');
  });

  it('has a tag of its own in each form; a short one is not compressed', async () => {
    expect((await get({ 'accept-encoding': 'gzip' })).headers.get('content-encoding')).toBeNull();
    filler = 'x'.repeat(2_000);
    const zipped = await get({ 'accept-encoding': 'gzip, br' });
    expect([zipped.headers.get('content-encoding'), zipped.body]).toEqual(['gzip', { count, filler }]);
    const tag = zipped.headers.get('etag') ?? '';
    const table = await get({ accept: 'text/csv' });
    expect(new Set([tag, await tagNow(), table.headers.get('etag')]).size).toBe(3);
    expect((await get({ 'accept-encoding': 'gzip', 'if-none-match': tag })).status).toBe(304);
  });
});

it.each<[knows: boolean, values: (string | null)[]]>([
  [true, ['"a"', 'W/"a"', ' * ', '"b","a","c"', 'W/"b" , W/"a"', '"x,y", "a"', ',, "a" ,']],
  [false, [null, '', 'a', '"A"', '"b"', '"aa"', "'a'", '"x, "', '"*"', '**', '"', '"a']],
])('If-None-Match knows the tag "a": %s for %j', (knows, values) => {
  for (const value of values) expect({ value, knows: isKnown(value, '"a"') }).toEqual({ value, knows });
});

it.each([
  ['gzip', true],
  ['deflate, GZIP;q=0.5', true],
  [null, false],
  ['br', false],
  ['gzip;q=0', false],
  ['gzip; q=0.0, br', false],
])('Accept-Encoding: %s takes gzip: %s', (value, expected) => {
  expect(acceptsGzip(value)).toBe(expected);
});
