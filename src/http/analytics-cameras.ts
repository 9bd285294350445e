import * as z from 'zod';

import { busiest, type CameraOrder } from '../analytics/model/camera-order.ts';
import { dayOf } from '../analytics/model/day.ts';
import { CATEGORY_FORM } from '../analytics/model/identifier.ts';
import { formatInstant, type Instant } from '../analytics/model/instant.ts';
import type { CameraActivity } from '../analytics/read/reader.ts';
import {
  type AnalyticsDependencies,
  answeredCounts,
  answeredTime,
  countMembers,
  countsTable,
  EXAMPLE_COUNTS,
} from './analytics-answer.ts';
import { lastSeen, lastSeenTable } from './analytics-last-seen.ts';
import { camerasOfDays, camerasQuery, LAST_EVENT_AT, nameFilter } from './cameras-of-days.ts';
import { badRequest } from './problem.ts';
import { STORAGE_PROBLEMS } from './route/answers.ts';
import { hidden, parameter } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

const orderOf = (text: string): CameraOrder =>
  text === 'total_events' || text === 'reviewed_total_events' || text === 'annotated_total_events'
    ? text
    : { category: text };

const query = z.object({
  date: camerasQuery.date,
  days: camerasQuery.days,
  order_by: parameter(
    z
      .string()
      .regex(CATEGORY_FORM, 'must be total_events, reviewed_total_events, annotated_total_events or a category')
      .optional(),
    '`total_events` (the default), `reviewed_total_events`, `annotated_total_events`, or a category: then by the times the AI flagged it.',
    'smoke',
  ),
  q: camerasQuery.q,
  counts: hidden(z.enum(['true', 'false'], { error: 'must be true or false' }).default('true')),
  limit: camerasQuery.limit,
});

const camera = z
  .object({
    camera_id: z.string(),
    last_event_at: answeredTime.optional().describe(LAST_EVENT_AT),
    ...countMembers,
  })
  .meta({ id: 'AnalyticsOfCamera' });

/** `GET /api/analytics/cameras`: the cameras of one UTC day or several, the busiest over all of them first. */
export const analyticsCameras = ({ reader, now, categories }: AnalyticsDependencies): Route =>
  route({
    name: 'AnalyticsCameras',
    path: 'analytics/cameras',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalyticsOfCameras',
      tag: 'analytics',
      summary: 'The busiest cameras of UTC days',
      description:
        'The largest number first, equal ones by id. `counts=false` answers what `/api/analytics/cameras/last-seen` does.',
      query,
      conditional: true,
      answers: {
        200: {
          description:
            'What each of them did. Every configured category is present for every camera, and the one of `order_by`.',
          schema: camerasOfDays(camera).meta({ id: 'AnalyticsCameras' }),
          examples: {
            day: {
              date: '2026-11-21',
              days: 1,
              total_cameras: 1,
              cameras: [{ camera_id: 'ridge-04', last_event_at: '2026-11-21T08:00:00+00:00', ...EXAMPLE_COUNTS }],
            },
          },
          csv: 'camera_id,total_events,last_event_at\r\nridge-04,2,2026-11-21T08:00:00+00:00\r\n',
        },
      },
      problems: STORAGE_PROBLEMS,
      handle: async ({ query: { date: day = dayOf(now()), days, order_by, q, counts, limit } }) => {
        const isAsked = nameFilter(q);
        if (counts === 'false') {
          if (order_by !== undefined)
            throw badRequest([{ code: 'invalid', field: 'order_by', detail: 'needs the counts' }]);
          const unlistedBody = await lastSeen(reader, { day, days, isAsked, limit });
          return { status: 200, unlistedBody, csv: () => lastSeenTable(unlistedBody) };
        }
        const order = orderOf(order_by ?? 'total_events');
        const found = (await reader.cameras(day, days)).filter(({ cameraId }) => isAsked(cameraId));
        const first = busiest(found, order, limit);
        const lastMinutes = await reader.lastMinutes(day, days, new Set(first.map(({ cameraId }) => cameraId)));
        // A category that no camera has is 0 for each of them, like one that is configured.
        const always = typeof order === 'string' ? categories : [...categories, order.category];
        const cameras = first.map((one) => cameraAnswer(one, lastMinutes.get(one.cameraId), always));
        return {
          status: 200,
          jsonBody: { date: day, days, total_cameras: found.length, cameras },
          csv: () =>
            countsTable(
              cameras,
              { camera_id: ({ camera_id }) => camera_id },
              { last_event_at: ({ last_event_at = '' }) => last_event_at },
            ),
        };
      },
    }),
  });

const cameraAnswer = (
  { cameraId, tally }: CameraActivity,
  lastMinute: Instant | undefined,
  known: readonly string[],
) => ({
  camera_id: cameraId,
  last_event_at: lastMinute && formatInstant(lastMinute),
  ...answeredCounts(tally, known),
});
