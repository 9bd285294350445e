import * as z from 'zod';

import { busiest, type CameraOrder } from '../analytics/model/camera-order.ts';
import { dayOf } from '../analytics/model/day.ts';
import { CATEGORY_FORM } from '../analytics/model/identifier.ts';
import type { CameraActivity, CamerasReader } from '../analytics/read/cameras.ts';
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
import { operation, type Route, route } from './route/route.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = '50';

/** A whole number from 1. */
const wholeNumber = (most: number) =>
  z
    .string()
    .refine((text) => /^[1-9]\d{0,3}$/.test(text) && Number(text) <= most, `must be a whole number from 1 to ${most}`)
    .meta({ pattern: '^[1-9][0-9]{0,3}$' });

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

const MAX_DAYS = 31;

const query = z.object({
  date: date.meta({
    param: {
      description: 'A UTC day that exists, the last one of `days`; today where none is given.',
      example: '2026-11-21',
    },
  }),
  days: wholeNumber(MAX_DAYS)
    .default('1')
    .meta({
      param: { description: `How many UTC days, 1 to ${MAX_DAYS}: those that end with \`date\`.`, example: '7' },
    }),
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
  limit: wholeNumber(MAX_LIMIT)
    .default(DEFAULT_LIMIT)
    .meta({ param: { description: `How many cameras at most, 1 to ${MAX_LIMIT}.`, example: '10' } }),
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
      summary: 'The busiest cameras of UTC days',
      query,
      conditional: true,
      answers: {
        200: {
          description: 'What each of them did. Every configured category is present for every camera.',
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
      handle: async ({ query: { date: asked, days: askedDays, order_by, limit } }) => {
        const day = asked ?? dayOf(now());
        const days = Number(askedDays);
        const ofDays = await cameras.ofDays(day, days);
        const listed = busiest(ofDays, orderOf(order_by), Number(limit)).map((one) => cameraAnswer(one, categories));
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

const cameraAnswer = ({ cameraId, tally }: CameraActivity, categories: readonly string[]) => {
  const counts = answeredCounts(tally, categories);
  return { camera_id: cameraId, ...counts };
};
