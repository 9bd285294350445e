import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';

import { type App, startApp, testEnvironment } from '../harness/app.ts';

let app: App;
beforeAll(async () => {
  app = await startApp({ environment: testEnvironment(), runsSchedules: false });
});
afterAll(() => app.stop());

const problem = z.object({ errors: z.array(z.unknown()), errors_total: z.int() });
const listOf = (count: number, value: unknown): readonly unknown[] => Array.from({ length: count }, () => value);
const parameters = Array.from({ length: 1_500 }, (_, index) => `p${index}`).join('&');
const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`m${index}`, 1]));

const GZIP = { 'content-encoding': 'gzip' };

it.each<[what: string, path: string, total: number, request: RequestInit]>([
  ['events', 'events', 30_000, { method: 'POST', headers: GZIP, body: gzipSync(JSON.stringify(listOf(5_000, {}))) }],
  ['elements of a callback', 'AnomalyCallback', 10_000, { method: 'POST', body: JSON.stringify(listOf(10_000, 7)) }],
  ['parameters', `analytics/cameras?${parameters}`, 1_500, {}],
  ['members', 'notifications', 5_003, { method: 'POST', body: JSON.stringify(members) }],
  [
    'recipients',
    'notifications',
    30_000,
    {
      method: 'POST',
      body: JSON.stringify({ channel: 'phone', alert_type: 'Custom', recipients: listOf(30_000, 1) }),
    },
  ],
])(
  'of many wrong %s, the answer lists 100, says how many there are, and comes soon',
  async (_what, path, total, request) => {
    const begun = performance.now();
    const answer = await fetch(`${app.url}/api/${path}`, request);
    const text = await answer.text();
    const { errors, errors_total } = problem.parse(JSON.parse(text));
    expect([answer.status, errors.length, errors_total]).toEqual([400, 100, total]);
    expect(text.length).toBeLessThan(30_000);
    // 17 s for the recipients, when the place of each fault was found by reading the list.
    expect(performance.now() - begun).toBeLessThan(8_000);
  },
);
