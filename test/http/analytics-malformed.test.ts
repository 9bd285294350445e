import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { analyticsDay } from '../../src/http/analytics-day.ts';
import { analyticsRange } from '../../src/http/analytics-range.ts';
import { analyticsSeries } from '../../src/http/analytics-series.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { ask, problemOf } from './asking.ts';
import {
  END,
  NO_CAMERAS,
  NO_DAYS,
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
const range = analyticsRange(dependencies, 86_400).handler;
const day = analyticsDay(dependencies).handler;
const series = analyticsSeries(dependencies, 86_400).handler;
const cameras = analyticsCameras({ ...dependencies, cameras: camerasReader }).handler;

describe('GET /api/analytics refuses with a 400 that names it', () => {
  it.each(WRONG_RANGES)('%s', async (_what, query, fields) => {
    const problem = problemOf(await ask(range, `/api/analytics?${query}`));
    expect({ status: problem.status, fields: problem.fields }).toEqual({ status: 400, fields });
    for (const field of fields) expect(problem.detail).toContain(field);
  });

  it.each(NO_TIMES)('%s as a start, as an end', async (text) => {
    const start = problemOf(await ask(range, `/api/analytics?ts_utc_start=${text}&${END}`));
    expect(start).toMatchObject({
      status: 400,
      fields: ['ts_utc_start'],
      details: expect.stringContaining('must be a time'),
    });
    const end = problemOf(await ask(range, `/api/analytics?${START}&ts_utc_end=${text}`));
    expect(end).toMatchObject({
      status: 400,
      fields: ['ts_utc_end'],
      details: expect.stringContaining('must be a time'),
    });
  });

  it.each(NO_CAMERAS)('camera_id=%s', async (text, said) => {
    const problem = problemOf(await ask(range, `/api/analytics?camera_id=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['camera_id'], details: expect.stringContaining(said) });
  });
});

describe('GET /api/analytics/day refuses with a 400 that names it', () => {
  it.each(WRONG_DAYS)('%s', async (_what, query, fields) => {
    const problem = problemOf(await ask(day, `/api/analytics/day?${query}`));
    expect({ status: problem.status, fields: problem.fields }).toEqual({ status: 400, fields });
    for (const field of fields) expect(problem.detail).toContain(field);
  });

  it.each(NO_DAYS)('date=%s', async (text) => {
    const problem = problemOf(await ask(day, `/api/analytics/day?date=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['date'], details: expect.stringContaining('must be a day') });
  });

  it.each(NO_CAMERAS)('camera_id=%s', async (text, said) => {
    const problem = problemOf(await ask(day, `/api/analytics/day?camera_id=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['camera_id'], details: expect.stringContaining(said) });
  });
});

describe('GET /api/analytics/series refuses with a 400 that names it', () => {
  it.each([...WRONG_RANGES, ...WRONG_SERIES])('%s', async (_what, query, fields) => {
    const problem = problemOf(await ask(series, `/api/analytics/series?${query}`));
    expect({ status: problem.status, fields: problem.fields }).toEqual({ status: 400, fields });
    for (const field of fields) expect(problem.detail).toContain(field);
  });

  it.each(NO_TIMES)('%s as a start', async (text) => {
    const problem = problemOf(await ask(series, `/api/analytics/series?ts_utc_start=${text}&${END}`));
    expect(problem).toMatchObject({ status: 400, fields: ['ts_utc_start'] });
  });

  it.each(NO_CAMERAS)('camera_id=%s', async (text, said) => {
    const problem = problemOf(await ask(series, `/api/analytics/series?camera_id=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['camera_id'], details: expect.stringContaining(said) });
  });

  it('too many steps, with how many they are and how many there may be', async () => {
    const query = 'ts_utc_start=2026-11-20T00:00:30Z&ts_utc_end=2026-11-21T01:00:00Z&step=minute';
    const problem = problemOf(await ask(series, `/api/analytics/series?${query}`));
    expect(problem.detail).toBe(
      'step gives 1501 steps in this range; at most 1500 are answered: ask for a longer step or a shorter range',
    );
  });
});

describe('GET /api/analytics/cameras refuses with a 400 that names it', () => {
  it.each(WRONG_CAMERA_LISTS)('%s', async (_what, query, fields) => {
    const problem = problemOf(await ask(cameras, `/api/analytics/cameras?${query}`));
    expect({ status: problem.status, fields: problem.fields }).toEqual({ status: 400, fields });
    for (const field of fields) expect(problem.detail).toContain(field);
  });

  it.each(NO_DAYS)('date=%s', async (text) => {
    const problem = problemOf(await ask(cameras, `/api/analytics/cameras?date=${text}`));
    expect(problem).toMatchObject({ status: 400, fields: ['date'], details: expect.stringContaining('must be a day') });
  });
});
