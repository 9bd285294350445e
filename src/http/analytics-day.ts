import * as z from 'zod';

import { dayOf, endOfDay, startOfDay } from '../analytics/model/day.ts';
import {
  ACTIVITY_ANSWERS,
  activeCameraIds,
  activityAnswer,
  type AnalyticsDependencies,
  cameraId,
  date,
  DATE_FORM,
  queryProblems,
} from './analytics-answer.ts';
import { operation, type Route, route } from './route/route.ts';

const query = z.object({ date, camera_id: cameraId, active_camera_ids: activeCameraIds });

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
      conditional: true,
      answers: ACTIVITY_ANSWERS,
      problems: queryProblems('date', DATE_FORM),
      handle: async ({ query: { date: asked, camera_id, active_camera_ids } }) => {
        const day = asked ?? dayOf(now());
        const period = { start: startOfDay(day), end: endOfDay(day) };
        return activityAnswer(period, await reader.activity(period, camera_id), {
          always: categories,
          withIds: active_camera_ids === 'true',
        });
      },
    }),
  });
