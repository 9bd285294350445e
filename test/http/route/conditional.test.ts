import { describe, expect, it } from 'vitest';
import * as z from 'zod';

import { entityTag, isKnown } from '../../../src/http/route/conditional.ts';
import { Problem } from '../../../src/http/problem.ts';
import { operation, route } from '../../../src/http/route/route.ts';
import { ask } from '../asking.ts';

let count = 1;
let filler: string | undefined;
const countSchema = z.strictObject({ count: z.number(), filler: z.string().optional() });

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
    answers: { 200: { description: 'The count.', schema: countSchema, csv: 'count\r\n1\r\n' } },
    handle: () => {
      if (count < 0) throw new Problem(503, { detail: 'Not now.' });
      return { status: 200, jsonBody: { count, filler }, csv: () => [['count'], [count]] };
    },
  }),
});

const asking = async (ifNoneMatch?: string) =>
  ask(handler, '/api/counted', { headers: ifNoneMatch === undefined ? {} : { 'If-None-Match': ifNoneMatch } });

const tagNow = async (): Promise<string> => (await asking()).headers.get('etag') ?? '';

describe('a conditional answer', () => {
  it('has a strong tag of its body, and may be kept by whoever asked', async () => {
    const { status, headers, body } = await asking();
    expect([status, body, headers.get('content-type')]).toEqual([200, { count: 1 }, 'application/json']);
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('etag')).toBe(entityTag('{"count":1}'));
    expect(headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
  });

  it('is a 304 without a body for whoever has it, with the tag', async () => {
    const tag = await tagNow();
    const { status, headers, body } = await asking(tag);
    expect([status, body]).toEqual([304, undefined]);
    expect([headers.get('etag'), headers.get('cache-control')]).toEqual([tag, 'private, no-cache']);
    expect(headers.get('content-type')).toBeNull();
  });

  it('is a 200 again when the body has changed, and a 304 when it has changed back', async () => {
    const tag = await tagNow();
    count = 2;
    expect((await asking(tag)).status).toBe(200);
    count = 1;
    expect((await asking(tag)).status).toBe(304);
  });

  it('is never in the place of a problem', async () => {
    count = -1;
    const { status, headers } = await asking('*');
    count = 1;
    expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([503, null, null]);
  });
});

describe('If-None-Match', () => {
  it.each(['"a"', 'W/"a"', '*', ' * ', '"b", "a"', '"b","a","c"', 'W/"b" , W/"a"', '"x,y", "a"', ',, "a" ,'])(
    'takes %s for "a"',
    (value) => {
      expect(isKnown(value, '"a"')).toBe(true);
    },
  );

  it.each([null, undefined, '', 'a', '"A"', '"b"', '"aa"', "'a'", '"x, "', '"*"', '**', '"', '"a'])(
    'does not take %s for "a"',
    (value) => {
      expect(isKnown(value, '"a"')).toBe(false);
    },
  );
});

const accepting = async (headers: Readonly<Record<string, string>>) => ask(handler, '/api/counted', { headers });

describe('the form of an answer', () => {
  it.each([
    ['text/csv', true],
    ['text/csv, */*;q=0.5', true],
    ['application/json;q=0.9, text/csv', true],
    ['text/csv, application/json', true],
    ['application/json, text/csv', false],
    ['text/csv;q=0', false],
    ['text/html, */*', false],
    ['*/*', false],
  ])('for %s is CSV: %s', async (accept, isCsv) => {
    count = 1;
    const { headers, body } = await accepting({ accept });
    expect([headers.get('content-type'), body]).toEqual(
      isCsv ? ['text/csv; charset=utf-8', 'count\r\n1\r\n'] : ['application/json', { count: 1 }],
    );
    expect(headers.get('vary')).toBe('Accept, Accept-Encoding');
  });

  it('has a tag of its own, also where it is compressed', async () => {
    filler = 'x'.repeat(2_000);
    const plain = await accepting({});
    const zipped = await accepting({ 'accept-encoding': 'gzip, br' });
    const table = await accepting({ accept: 'text/csv' });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.body).toEqual(plain.body);
    const tags = [plain, zipped, table].map(({ headers }) => headers.get('etag') ?? '');
    expect(new Set(tags).size).toBe(3);
    const again = { 'accept-encoding': 'gzip', 'if-none-match': tags[1] ?? '' };
    expect((await accepting(again)).status).toBe(304);
    filler = undefined;
    expect((await accepting({ 'accept-encoding': 'gzip' })).headers.get('content-encoding')).toBeNull();
  });
});
