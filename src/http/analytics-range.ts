import * as z from 'zod';

import {
  ACTIVITY_ANSWERS,
  activeCameraIds,
  activityAnswer,
  type AnalyticsDependencies,
  cameraId,
  queryProblems,
} from './analytics-answer.ts';
import { periodOf, RANGE_RULES, rangeParameters } from './range-parameters.ts';
import { operation, type Route, route } from './route/route.ts';

const query = z.object({ ...rangeParameters, camera_id: cameraId, active_camera_ids: activeCameraIds });

/**
 * `GET /api/analytics`: what happened in a period, both ends included; without ends, in the window that ends now.
 *
 * @param windowSeconds the window's length in seconds
 */
export const analyticsRange = ({ reader, now, categories }: AnalyticsDependencies, windowSeconds: number): Route =>
  route({
    name: 'AnalyticsRange',
    path: 'analytics',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalytics',
      tag: 'analytics',
      summary: 'What happened in a period',
      description: RANGE_RULES,
      query,
      conditional: true,
      answers: ACTIVITY_ANSWERS,
      problems: queryProblems('ts_utc_end', 'is missing: give both ends or neither'),
      handle: async ({ query: { camera_id, active_camera_ids, ...range } }) => {
        const period = periodOf(range, now(), windowSeconds);
        return activityAnswer(period, await reader.activity(period, camera_id), {
          always: categories,
          withIds: active_camera_ids === 'true',
        });
      },
    }),
  });
