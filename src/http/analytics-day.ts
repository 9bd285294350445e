import * as z from 'zod';

import { dayOf, endOfDay, isDay, startOfDay } from '../analytics/model/day.ts';
import {
  ACTIVITY_ANSWERS,
  activityAnswer,
  type AnalyticsDependencies,
  cameraId,
  queryProblems,
} from './analytics-answer.ts';
import { operation, type Route, route } from './route/route.ts';

const query = z.object({
  date: z
    .string()
    .refine(isDay, 'must be a day that exists, such as 2026-11-21')
    .meta({ format: 'date' })
    .optional()
    .meta({ param: { description: 'A UTC day that exists; today where none is given.', example: '2026-11-21' } }),
  camera_id: cameraId,
});

/** `GET /api/analytics/day`: what happened on a UTC day, today where none is given. */
export const analyticsDay = ({ reader, now, categories }: AnalyticsDependencies): Route =>
  route({
    name: 'AnalyticsDay',
    path: 'analytics/day',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalyticsOfDay',
      tag: 'analytics',
      summary: 'What happened on a UTC day',
      query,
      answers: ACTIVITY_ANSWERS,
      problems: queryProblems('date', 'must be a day that exists, such as 2026-11-21'),
      handle: async ({ query: { date, camera_id } }) => {
        const day = date ?? dayOf(now());
        const period = { start: startOfDay(day), end: endOfDay(day) };
        return activityAnswer(period, await reader.activity(period, camera_id), categories);
      },
    }),
  });
