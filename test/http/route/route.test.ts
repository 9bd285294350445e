import { expect, it } from 'vitest';

import { health } from '../../../src/http/health.ts';
import { ask } from '../asking.ts';

const { handler } = health({ get: async () => undefined });

const TYPE = 'application/json';
const ALLOW = 'GET, HEAD, OPTIONS';

it.each<[method: string, status: number, type: string | null, allow: string | null, body: unknown]>([
  ['GET', 200, TYPE, null, { status: 'ok' }],
  ['HEAD', 200, TYPE, null, undefined],
  ['OPTIONS', 204, null, ALLOW, undefined],
  ...['POST', 'PUT', 'PATCH', 'DELETE'].map((method): [string, number, string, string, unknown] => [
    method,
    405,
    'application/problem+json',
    ALLOW,
    expect.objectContaining({ code: 'method_not_allowed', detail: `This path accepts ${ALLOW}.` }),
  ]),
])('a path with GET answers %s with a %i, and names the request', async (method, status, type, allow, body) => {
  const answer = await ask(handler, '/api/health', { method });
  const headers = ['content-type', 'allow', 'x-request-id'].map((name) => answer.headers.get(name));
  expect([answer.status, ...headers, answer.body]).toEqual([status, type, allow, 'unknown', body]);
});
