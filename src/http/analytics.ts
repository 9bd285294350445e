import * as z from 'zod';

import { dayOf, endOfDay, startOfDay } from '../analytics/model/day.ts';
import type { Period } from '../analytics/model/period.ts';
import {
  activeCameras,
  type AnalyticsDependencies,
  answeredCounts,
  answeredPeriod,
  cameraId,
  countMembers,
  date,
  EXAMPLE_COUNTS,
  periodMembers,
} from './analytics-answer.ts';
import { periodOf, rangeParameters, rangeRule, RANGE_RULES, WHEN_ENDS_ARE_RIGHT } from './range-parameters.ts';
import { type Answers, STORAGE_PROBLEMS } from './route/answers.ts';
import { parameter } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

/**
 * `GET /api/analytics`: what happened in a period, both ends included; without ends, in the window that ends now.
 *
 * @param windowSeconds the window's length in seconds
 */
export const analyticsRange = (dependencies: AnalyticsDependencies, windowSeconds: number): Route =>
  route({
    name: 'AnalyticsRange',
    path: 'analytics',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalytics',
      tag: 'analytics',
      summary: 'What happened in a period',
      description: RANGE_RULES,
      query: z.object({ ...rangeParameters, ...whichCameras }).superRefine(rangeRule, WHEN_ENDS_ARE_RIGHT),
      conditional: true,
      answers: ANSWERS,
      problems: STORAGE_PROBLEMS,
      handle: async ({ query }) => activity(periodOf(query, dependencies.now(), windowSeconds), query, dependencies),
    }),
  });

/** `GET /api/analytics/day`: what happened on a UTC day, today where none is given. */
export const analyticsDay = (dependencies: AnalyticsDependencies): Route =>
  route({
    name: 'AnalyticsDay',
    path: 'analytics/day',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalyticsOfDay',
      tag: 'analytics',
      summary: 'What happened on a UTC day',
      query: z.object({ date, ...whichCameras }),
      conditional: true,
      answers: ANSWERS,
      problems: STORAGE_PROBLEMS,
      handle: async ({ query }) => {
        const day = query.date ?? dayOf(dependencies.now());
        return activity({ start: startOfDay(day), end: endOfDay(day) }, query, dependencies);
      },
    }),
  });

const whichCameras = {
  camera_id: cameraId,
  active_camera_ids: parameter(
    z.enum(['true', 'false'], 'must be true or false').default('true'),
    '`false` leaves `active_camera_ids` out of the answer: there may be over a thousand.',
    'false',
  ),
};

const ANSWERS = {
  200: {
    description: 'What happened. Every configured category is present in all three maps, 0 where nothing happened.',
    schema: z
      .object({
        ...periodMembers,
        active_cameras: activeCameras,
        active_camera_ids: z
          .array(z.string())
          .optional()
          .describe('Those cameras, sorted; left out where that is asked for.'),
        ...countMembers,
      })
      .meta({ id: 'Analytics' }),
    examples: {
      day: {
        ts_utc_start: '2026-11-21T00:00:00+00:00',
        ts_utc_end: '2026-11-21T23:59:59.999999+00:00',
        active_cameras: 2,
        active_camera_ids: ['ridge-04', 'ridge-05'],
        ...EXAMPLE_COUNTS,
      },
    },
  },
} as const satisfies Answers;

const activity = async (
  period: Period,
  asked: { readonly camera_id?: string | undefined; readonly active_camera_ids: 'true' | 'false' },
  { reader, categories }: AnalyticsDependencies,
) => {
  const { tally, activeCameras: ids } = await reader.activity(period, asked.camera_id);
  const { total_events, ...counts } = answeredCounts(tally, categories);
  return {
    status: 200 as const,
    jsonBody: {
      ...answeredPeriod(period),
      total_events,
      active_cameras: ids.length,
      ...(asked.active_camera_ids === 'true' && { active_camera_ids: ids }),
      ...counts,
    },
  };
};
