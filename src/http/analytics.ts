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
  periodMembers,
  ofAnalytics,
} from './analytics-answer.ts';
import { periodOf, rangeParameters, rangeRule, RANGE_RULES, WHEN_ENDS_ARE_RIGHT } from './range-parameters.ts';
import { flag } from './request-values.ts';
import type { Answers } from './route/answers.ts';
import { parameter } from './route/fields.ts';
import { get, type Route } from './route/route.ts';

/**
 * `GET /api/analytics`: the counts of a period, both ends included; without ends, of the sliding window.
 *
 * @param windowSeconds the window's length in seconds
 */
export const analyticsRange = (dependencies: AnalyticsDependencies, windowSeconds: number): Route =>
  get('AnalyticsRange', 'analytics', {
    ...ofAnalytics,
    operationId: 'getAnalytics',
    summary: 'Counts of a period',
    description: RANGE_RULES,
    query: z.object({ ...rangeParameters, ...whichCameras }).superRefine(rangeRule, WHEN_ENDS_ARE_RIGHT),
    answers: ANSWERS,
    handle: async ({ query }) => activity(periodOf(query, dependencies.now(), windowSeconds), query, dependencies),
  });

/** `GET /api/analytics/day`: the counts of a UTC day, by default today. */
export const analyticsDay = (dependencies: AnalyticsDependencies): Route =>
  get('AnalyticsDay', 'analytics/day', {
    ...ofAnalytics,
    operationId: 'getAnalyticsOfDay',
    summary: 'Counts of a UTC day',
    query: z.object({ date, ...whichCameras }),
    answers: ANSWERS,
    handle: async ({ query }) => {
      const day = query.date ?? dayOf(dependencies.now());
      return activity({ start: startOfDay(day), end: endOfDay(day) }, query, dependencies);
    },
  });

const whichCameras = {
  camera_id: cameraId,
  active_camera_ids: parameter(
    flag(true),
    '`false` leaves `active_camera_ids` out of the answer: there may be over a thousand.',
    'false',
  ),
};

/** The day of one frame: the AI flagged smoke; an operator reviewed the frame, and drew two fires and the smoke. */
const EXAMPLE = {
  ts_utc_start: '2026-11-20T00:00:00+00:00',
  ts_utc_end: '2026-11-20T23:59:59.999999+00:00',
  total_events: 1,
  active_cameras: 1,
  active_camera_ids: ['ridge-04'],
  counts_per_category: { fire: 0, smoke: 1, structure: 0 },
  reviewed_total_events: 1,
  reviewed_counts_per_category: { fire: 1, smoke: 1, structure: 0 },
  annotated_total_events: 1,
  annotated_counts_per_category: { fire: 2, smoke: 1, structure: 0 },
};

const ANSWERS = {
  200: {
    description:
      'The counts. The three maps have the same categories: the configured ones, and those with a number that is not 0.',
    schema: z
      .object({
        ...periodMembers,
        active_cameras: activeCameras,
        active_camera_ids: z
          .array(z.string())
          .optional()
          .describe('Those cameras, sorted. Left out with `active_camera_ids=false`.'),
        ...countMembers,
      })
      .meta({ id: 'Analytics', examples: [EXAMPLE] }),
  },
} as const satisfies Answers;

const activity = async (
  period: Period,
  asked: { readonly camera_id?: string | undefined; readonly active_camera_ids: boolean },
  { reader, categories }: AnalyticsDependencies,
) => {
  const answered = await reader.activity(period, asked.camera_id);
  const ids = answered.cameras();
  const { total_events, ...counts } = answeredCounts(answered.tally, categories);
  return {
    status: 200 as const,
    jsonBody: {
      ...answeredPeriod(answered.period),
      total_events,
      active_cameras: ids.size,
      ...(asked.active_camera_ids && { active_camera_ids: [...ids].sort() }),
      ...counts,
    },
  };
};
