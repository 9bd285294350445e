import { describe, expect, it } from 'vitest';
import * as z from 'zod';

import { entityTag, isKnown } from '../../../src/http/route/conditional.ts';
import { Problem } from '../../../src/http/problem.ts';
import { operation, route } from '../../../src/http/route/route.ts';
import { ask } from '../asking.ts';

let count = 1;

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
    answers: { 200: { description: 'The count.', schema: z.strictObject({ count: z.number() }) } },
    handle: () => {
      if (count < 0) throw new Problem(503, { detail: 'Not now.' });
      return { status: 200, jsonBody: { count } };
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
