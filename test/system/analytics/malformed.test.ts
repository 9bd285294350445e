import { expect, it } from 'vitest';

import { problemOf } from '../../http/asking.ts';
import { json, wrongEvents } from '../../http/wrong-events.ts';
import {
  END,
  NO_CAMERAS,
  NO_DAYS_IN_URLS,
  NO_TIMES,
  START,
  WRONG_DAYS,
  WRONG_RANGES,
} from '../../http/wrong-questions.ts';
import { startWatch, type Given } from './watch.ts';

const problem = (given: Given) => problemOf({ ...given, body: JSON.parse(given.body) });

it('hundreds of malformed requests are each answered with what is wrong, and the process survives', async () => {
  const watch = await startWatch();
  const pid = watch.app.pid;
  const questions: readonly (readonly [path: string, named: readonly string[]])[] = [
    ...WRONG_RANGES.map(([, query, named]) => [`/api/analytics?${query}`, named] as const),
    ...WRONG_DAYS.map(([, query, named]) => [`/api/analytics/day?${query}`, named] as const),
    ...NO_TIMES.map((text) => [`/api/analytics?ts_utc_start=${text}&${END}`, ['ts_utc_start']] as const),
    ...NO_TIMES.map((text) => [`/api/analytics?${START}&ts_utc_end=${text}`, ['ts_utc_end']] as const),
    ...NO_CAMERAS.map(([id]) => [`/api/analytics?camera_id=${id}`, ['camera_id']] as const),
    ...NO_DAYS_IN_URLS.map((text) => [`/api/analytics/day?date=${text}`, ['date']] as const),
  ];
  expect(questions.length).toBeGreaterThan(150);
  for (const [path, named] of questions) {
    const given = await watch.request(path);
    expect({ path, status: given.status }).toEqual({ path, status: 400 });
    expect({ path, ...problem(given) }).toMatchObject({ path, fields: named });
  }

  expect(wrongEvents.length).toBeGreaterThan(150);
  for (const [what, event, said] of wrongEvents) {
    const given = await watch.request('/api/events', { method: 'POST', body: json([event]) });
    const expected = { what, status: 400, indices: [0], details: expect.stringContaining(said) };
    expect({ what, ...problem(given) }).toMatchObject(expected);
  }
  const together = await watch.request('/api/events', {
    method: 'POST',
    body: json(wrongEvents.map(([, event]) => event)),
  });
  expect(problem(together).indices).toEqual(wrongEvents.map((_, index) => index));

  expect((await watch.request('/api/health')).status).toBe(200);
  expect(watch.app.pid).toBe(pid);
  expect(watch.app.output()).not.toContain('unexpected error');
}, 60_000);
