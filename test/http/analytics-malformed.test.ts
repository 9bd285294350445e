import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { analyticsDay } from '../../src/http/analytics-day.ts';
import { analyticsRange } from '../../src/http/analytics-range.ts';
import { analyticsSeries } from '../../src/http/analytics-series.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { ask, problemOf, type TestedProblem } from './asking.ts';
import {
  END,
  NO_CAMERAS,
  NO_DAYS_IN_URLS,
  NO_TIMES,
  START,
  WRONG_CAMERA_LISTS,
  WRONG_DAYS,
  WRONG_RANGES,
  WRONG_SERIES,
} from './wrong-questions.ts';

const { reader, cameras: camerasReader } = new CountingStorage().process();
const now = () => instantFrom(parseInstant('2026-11-21T08:00:00Z') ?? 0n);
const dependencies = { reader, now, categories: ['fire', 'smoke', 'structure'] };

const ENDPOINTS = {
  '': analyticsRange(dependencies, 86_400).handler,
  '/day': analyticsDay(dependencies).handler,
  '/series': analyticsSeries(dependencies, 86_400).handler,
  '/cameras': analyticsCameras({ ...dependencies, cameras: camerasReader }).handler,
};
type Endpoint = keyof typeof ENDPOINTS;

const refusal = async (endpoint: Endpoint, query: string): Promise<TestedProblem> => {
  const problem = problemOf(await ask(ENDPOINTS[endpoint], `/api/analytics${endpoint}?${query}`));
  expect(problem.status).toBe(400);
  return problem;
};

/** A refusal that names a field and says something about it. */
const naming = (field: string, said: string) => ({ fields: [field], details: expect.stringContaining(said) });

describe.each<[Endpoint, readonly (readonly [what: string, query: string, fields: readonly string[]])[]]>([
  ['', WRONG_RANGES],
  ['/day', WRONG_DAYS],
  ['/series', [...WRONG_RANGES, ...WRONG_SERIES]],
  ['/cameras', WRONG_CAMERA_LISTS],
])('GET /api/analytics%s refuses with a 400 that names it', (endpoint, wrong) => {
  it.each(wrong)('%s', async (_what, query, fields) => {
    const problem = await refusal(endpoint, query);
    expect(problem.fields).toEqual(fields);
    for (const field of fields) expect(problem.detail).toContain(field);
  });
});

describe.each(['', '/series'] as const)('GET /api/analytics%s refuses as a start, as an end', (endpoint) => {
  it.each(NO_TIMES)('%s', async (text) => {
    expect(await refusal(endpoint, `ts_utc_start=${text}&${END}`)).toMatchObject(
      naming('ts_utc_start', 'must be a time'),
    );
    expect(await refusal(endpoint, `${START}&ts_utc_end=${text}`)).toMatchObject(
      naming('ts_utc_end', 'must be a time'),
    );
  });
});

describe.each(['', '/day', '/series'] as const)('GET /api/analytics%s refuses', (endpoint) => {
  it.each(NO_CAMERAS)('camera_id=%s', async (text, said) => {
    expect(await refusal(endpoint, `camera_id=${text}`)).toMatchObject(naming('camera_id', said));
  });
});

describe.each(['/day', '/cameras'] as const)('GET /api/analytics%s refuses', (endpoint) => {
  it.each(NO_DAYS_IN_URLS)('date=%s', async (text) => {
    expect(await refusal(endpoint, `date=${text}`)).toMatchObject(naming('date', 'must be a day'));
  });
});

it('GET /api/analytics/series refuses too many steps, with how many they are and how many there may be', async () => {
  const query = 'ts_utc_start=2026-11-20T00:00:30Z&ts_utc_end=2026-11-21T01:00:00Z&step=minute';
  expect((await refusal('/series', query)).detail).toBe(
    'step gives 1501 steps in this range; at most 1500 are answered: ask for a longer step or a shorter range',
  );
});
