import { expect, it } from 'vitest';

import { health } from '../../src/http/health.ts';
import { ask, problemOf } from './asking.ts';

it('health is as storage is, asked once a second however many ask, and says no more than when to come again', async () => {
  let [now, probes] = [0, 0];
  const table = { answers: async () => Promise.resolve((probes += 1) !== 2) };
  const { handler } = health(table, () => now);
  const answers = async () =>
    Promise.all(Array.from({ length: 20 }, async () => ask(handler, '/api/health?probe=1&probe=2&=')));

  const well = await answers();
  now = 999;
  for (const answer of [...well, ...(await answers())]) {
    expect(answer).toMatchObject({ status: 200, body: { status: 'ok' } });
  }
  expect(probes).toBe(1);
  now = 1_000;
  for (const answer of await answers()) {
    expect(problemOf(answer)).toEqual({ status: 503, detail: 'Storage does not answer.' });
    expect(answer.headers.get('retry-after')).toBe('5');
  }
  expect(probes).toBe(2);
});
