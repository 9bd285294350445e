import * as z from 'zod';

import { busiest, type CameraOrder } from '../analytics/model/camera-order.ts';
import { dayOf } from '../analytics/model/day.ts';
import { CATEGORY_FORM } from '../analytics/model/identifier.ts';
import type { CameraActivity, CamerasReader } from '../analytics/read/cameras.ts';
import {
  type AnalyticsDependencies,
  answeredCounts,
  countMembers,
  date,
  DATE_FORM,
  EXAMPLE_COUNTS,
  queryProblems,
} from './analytics-answer.ts';
import { badRequest } from './problem.ts';
import { wholeNumber } from './request-values.ts';
import { operation, type Route, route } from './route/route.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;

const orderOf = (text: string): CameraOrder => {
  switch (text) {
    case 'total_events':
    case 'reviewed_total_events':
    case 'annotated_total_events':
      return text;
    default:
      return { category: text };
  }
};

const query = z.object({
  date,
  order_by: z
    .string()
    .regex(CATEGORY_FORM, 'must be total_events, reviewed_total_events, annotated_total_events or a category')
    .default('total_events')
    .meta({
      param: {
        description:
          '`total_events`, `reviewed_total_events`, `annotated_total_events`, or a category: then by the times the AI flagged it.',
        example: 'smoke',
      },
    }),
  limit: wholeNumber(1, MAX_LIMIT, DEFAULT_LIMIT).meta({
    param: {
      description: `How many cameras at most, 1 to ${MAX_LIMIT}; ${DEFAULT_LIMIT} if it is not given.`,
      example: 10,
    },
  }),
});

const camerasSchema = z
  .strictObject({
    date: z.string().meta({ format: 'date' }).describe('The UTC day.'),
    total_cameras: z.int().min(0).describe('How many cameras sent events on this day.'),
    cameras: z
      .array(z.strictObject({ camera_id: z.string(), ...countMembers }).meta({ id: 'AnalyticsOfCamera' }))
      .max(MAX_LIMIT)
      .describe('The largest number first, equal ones by id.'),
  })
  .meta({ id: 'AnalyticsCameras' });

/** `GET /api/analytics/cameras`: the cameras of a UTC day, the busiest first. */
export const analyticsCameras = ({
  cameras,
  now,
  categories,
}: Pick<AnalyticsDependencies, 'now' | 'categories'> & { readonly cameras: CamerasReader }): Route =>
  route({
    name: 'AnalyticsCameras',
    path: 'analytics/cameras',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalyticsOfCameras',
      tag: 'analytics',
      summary: 'The busiest cameras of a UTC day',
      query,
      conditional: true,
      answers: {
        200: {
          description: 'What each of them did. Every configured category is present for every camera.',
          schema: camerasSchema,
          examples: {
            day: { date: '2026-11-21', total_cameras: 1, cameras: [{ camera_id: 'ridge-04', ...EXAMPLE_COUNTS }] },
          },
        },
      },
      problems: queryProblems('date', DATE_FORM),
      handle: async ({ query: { date: asked, order_by, limit } }) => {
        const day = asked ?? dayOf(now());
        const ofDay = await cameras.ofDay(day);
        mustBeKnown(orderOf(order_by), ofDay, categories);
        return {
          status: 200,
          jsonBody: {
            date: day,
            total_cameras: ofDay.length,
            cameras: busiest(ofDay, orderOf(order_by), limit).map((camera) => cameraAnswer(camera, categories)),
          },
        };
      },
    }),
  });

/** @throws {Problem} 400 for a category that is neither configured nor seen: misspelt, it would silently order by nothing */
const mustBeKnown = (order: CameraOrder, seen: readonly CameraActivity[], categories: readonly string[]): void => {
  if (typeof order === 'string' || seen.length === 0) return;
  const known = new Set([...categories, ...seen.flatMap(({ tally }) => [...tally.categories.keys()])]);
  if (known.has(order.category)) return;
  const names = [...known].sort().join(', ');
  throw badRequest([{ field: 'order_by', detail: `names no total, and no category that was seen: they are ${names}` }]);
};

const cameraAnswer = ({ cameraId, tally }: CameraActivity, categories: readonly string[]) => {
  const counts = answeredCounts(tally, categories);
  return { camera_id: cameraId, ...counts };
};
