import { expect, it } from 'vitest';
import { z } from 'zod';

import { ask } from '../../infra/cli/ask.ts';
import { ScriptedService } from './scripted-service.ts';

const schema = z.object({ total_events: z.number() });

it.each([
  ['a page', { status: 200, body: '<h1>Sign in</h1>' }],
  ['JSON of another server', { status: 200, body: '{"status":"ok"}' }],
])('a question to the service fails with a sentence if the answer is %s', async (_what, reply) => {
  const service = await ScriptedService.start(() => reply);
  await expect(ask(service.url, '/api/x', schema)).rejects.toThrow('/api/x has another answer than this service gives');
});

it('no redirect takes the function key to another host', async () => {
  const keys: unknown[] = [];
  const other = await ScriptedService.start(({ headers }) => {
    keys.push(headers['x-functions-key']);
    return { status: 200, body: '{"total_events":1}' };
  });
  const service = await ScriptedService.start(() => ({ status: 302, headers: { location: other.url } }));
  await expect(ask(service.url, '/api/x', schema, { key: 'k' })).rejects.toThrow('answered with 302');
  expect(keys).toEqual([]);
});
