import { describe, expect, it } from 'vitest';
import * as z from 'zod';

import { Problem } from '../../../src/http/problem.ts';
import { jsonBody } from '../../../src/http/route/body.ts';
import { operation, route } from '../../../src/http/route/route.ts';
import { ask, problemOf } from '../asking.ts';

const asked: string[] = [];

const { methods, handler } = route({
  name: 'Example',
  path: 'example',
  authLevel: 'anonymous',
  POST: operation({
    operationId: 'postExample',
    tag: 'service',
    summary: 'An example',
    callbackToken: async (authorization) => {
      await Promise.resolve();
      if (authorization !== 'Bearer good') throw new Problem(401, { detail: 'Not authorised.' });
    },
    query: z.object({ step: z.enum(['hour', 'day'], 'must be an hour or a day').default('hour') }),
    headers: z.object({ 'X-Count': z.string('is missing').transform(Number) }),
    body: jsonBody(z.strictObject({ names: z.array(z.string('must be a string')) }), {
      maxBytes: 100,
      examples: {},
      element: 'name',
    }),
    answers: {
      200: {
        description: 'What came in.',
        schema: z.strictObject({ step: z.string(), count: z.number(), names: z.array(z.string()) }),
        headers: z.object({ ETag: z.string(), 'X-None': z.string().optional() }),
      },
    },
    handle: ({ query: { step }, headers, body: { names } }) => {
      asked.push(step);
      return {
        status: 200,
        headers: { ETag: '"1"', 'X-None': undefined },
        jsonBody: { step, count: headers['X-Count'] + 1, names },
      };
    },
  }),
  GET: operation({
    operationId: 'getExample',
    tag: 'service',
    summary: 'A page',
    query: 'any',
    answers: {
      200: { description: 'The page.', mediaType: 'text/html', schema: z.string() },
      304: { description: 'It has not changed.' },
    },
    handle: () => ({ status: 200, body: '"<p>"' }),
  }),
});

const good = {
  method: 'POST',
  headers: { authorization: 'Bearer good', 'x-count': '4' },
  body: '{"names":["a"]}',
};

describe('a declared route', () => {
  it('is registered for every method, to refuse what it does not take; OPTIONS is left to the host', () => {
    expect(methods).toEqual(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
  });

  it.each([
    ['GET', '"<p>"'],
    ['HEAD', undefined],
  ])('answers %s with the media type that is declared, HEAD without the body', async (method, expected) => {
    const { status, headers, body } = await ask(handler, '/api/example?whatever', { method });
    expect([status, headers.get('content-type'), body]).toEqual([200, 'text/html', expected]);
  });

  it('hands its handler what came in, parsed', async () => {
    const { status, headers, body } = await ask(handler, '/api/example?code=k', good);
    expect([status, body]).toEqual([200, { step: 'hour', count: 5, names: ['a'] }]);
    expect([headers.get('etag'), headers.has('x-none')]).toEqual(['"1"', false]);
  });

  it.each<[string, string, object, number, string]>([
    ['the query', '?step=week', {}, 400, 'step must be an hour or a day'],
    ['a header', '', { headers: { authorization: 'Bearer good' } }, 400, 'X-Count is missing'],
    ['the body', '', { body: '{"nam":1,"names":[]}' }, 400, 'nam is unknown'],
    ['a name in the body', '', { body: '{"names":["a",1]}' }, 400, 'name 1 must be a string'],
    ['the size of the body', '', { body: `"${'x'.repeat(100)}"` }, 413, 'The body is larger than 100 bytes.'],
    ['the token, before it looks at anything else', '?step=week', { headers: {}, body: '' }, 401, 'Not authorised.'],
    ['the method', '', { method: 'DELETE' }, 405, 'This path takes GET, HEAD, POST.'],
  ])('refuses %s before its handler sees it', async (_what, query, other, status, detail) => {
    asked.length = 0;
    const answer = await ask(handler, `/api/example${query}`, { ...good, ...other });
    expect(problemOf(answer)).toMatchObject({ status, detail });
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, POST' : null);
    expect(asked).toEqual([]);
  });
});
