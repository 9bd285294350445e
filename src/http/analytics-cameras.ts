import * as z from 'zod';

import { busiest, type CameraOrder } from '../analytics/model/camera-order.ts';
import { dayOf } from '../analytics/model/day.ts';
import { CATEGORY_FORM } from '../analytics/model/identifier.ts';
import type { CameraActivity } from '../analytics/read/reader.ts';
import {
  type AnalyticsDependencies,
  answeredCounts,
  countColumns,
  countMembers,
  date,
  DATE_FORM,
  EXAMPLE_COUNTS,
  queryProblems,
} from './analytics-answer.ts';
import { wholeNumber } from './request-values.ts';
import { parameter } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;

const orderOf = (text: string): CameraOrder =>
  text === 'total_events' || text === 'reviewed_total_events' || text === 'annotated_total_events'
    ? text
    : { category: text };

const MAX_DAYS = 31;

const query = z.object({
  date: parameter(date, 'A UTC day that exists, the last one of `days`; today where none is given.', '2026-11-21'),
  days: parameter(wholeNumber(1, MAX_DAYS, 1), `How many UTC days, 1 to ${MAX_DAYS}: those that end with \`date\`.`, 7),
  order_by: parameter(
    z
      .string()
      .regex(CATEGORY_FORM, 'must be total_events, reviewed_total_events, annotated_total_events or a category')
      .default('total_events'),
    '`total_events`, `reviewed_total_events`, `annotated_total_events`, or a category: then by the times the AI flagged it.',
    'smoke',
  ),
  limit: parameter(
    wholeNumber(1, MAX_LIMIT, DEFAULT_LIMIT),
    `How many cameras at most, 1 to ${MAX_LIMIT}; ${DEFAULT_LIMIT} if it is not given.`,
    10,
  ),
});

const camerasSchema = z
  .strictObject({
    date: z.string().meta({ format: 'date' }).describe('The last UTC day.'),
    days: z.int().min(1).max(MAX_DAYS).describe('How many UTC days end with it.'),
    total_cameras: z.int().min(0).describe('How many cameras sent events on these days.'),
    cameras: z
      .array(z.strictObject({ camera_id: z.string(), ...countMembers }).meta({ id: 'AnalyticsOfCamera' }))
      .max(MAX_LIMIT)
      .describe('The largest number first, equal ones by id.'),
  })
  .meta({ id: 'AnalyticsCameras' });

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
      query,
      conditional: true,
      answers: {
        200: {
          description:
            'What each of them did. Every configured category is present for every camera, and the one of `order_by`.',
          schema: camerasSchema,
          examples: {
            day: {
              date: '2026-11-21',
              days: 1,
              total_cameras: 1,
              cameras: [{ camera_id: 'ridge-04', ...EXAMPLE_COUNTS }],
            },
          },
          csv: 'camera_id,total_events\r\nridge-04,2\r\n',
        },
      },
      problems: queryProblems('date', DATE_FORM),
      handle: async ({ query: { date: asked, days, order_by, limit } }) => {
        const day = asked ?? dayOf(now());
        const order = orderOf(order_by);
        const ofDays = await reader.cameras(day, days);
        // A category that no camera has is 0 for each of them, like one that is configured.
        const always = typeof order === 'string' ? categories : [...categories, order.category];
        const listed = busiest(ofDays, order, limit).map((one) => cameraAnswer(one, always));
        return {
          status: 200,
          jsonBody: { date: day, days, total_cameras: ofDays.length, cameras: listed },
          csv: () => {
            const { heads, rowOf } = countColumns(listed);
            return [['camera_id', ...heads], ...listed.map((one) => rowOf([one.camera_id], one))];
          },
        };
      },
    }),
  });

const cameraAnswer = ({ cameraId, tally }: CameraActivity, categories: readonly string[]) => ({
  camera_id: cameraId,
  ...answeredCounts(tally, categories),
});
