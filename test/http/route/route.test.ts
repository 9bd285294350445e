import { expect, it } from 'vitest';

import { health } from '../../../src/http/health.ts';
import { ask, problemOf } from '../asking.ts';

const { handler } = health({ answers: async () => true });

it.each([
  ['GET', { status: 'ok' }],
  ['HEAD', undefined],
])(
  'a path that takes GET answers %s with the media type that is described, HEAD without the body',
  async (method, body) => {
    const answer = await ask(handler, '/api/health', { method });
    expect([answer.status, answer.headers.get('content-type'), answer.body]).toEqual([200, 'application/json', body]);
  },
);

it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('refuses %s, and says what it takes', async (method) => {
  const answer = await ask(handler, '/api/health', { method });
  expect(problemOf(answer)).toEqual({ status: 405, detail: 'This path accepts GET, HEAD, OPTIONS.' });
  expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
});

it('says to OPTIONS what it takes, and names each request', async () => {
  const answer = await ask(handler, '/api/health', { method: 'OPTIONS' });
  expect([answer.status, answer.headers.get('allow'), answer.body]).toEqual([204, 'GET, HEAD, OPTIONS', undefined]);
  expect(answer.headers.get('x-request-id')).toBe('unknown');
});
