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
  countColumns,
  countMembers,
  date,
  DATE_FORM,
  EXAMPLE_COUNTS,
  queryProblems,
} from './analytics-answer.ts';
import { badRequest } from './problem.ts';
import { identifier, wholeNumber } from './request-values.ts';
import { parameter } from './route/fields.ts';
import { mapInTurns } from './route/in-turns.ts';
import { operation, type Route, route } from './route/route.ts';

const MAX_LIMIT = 5_000;
const DEFAULT_LIMIT = 50;

/** The counts of so many cameras are put together in one go: with 64 categories, some 10 ms. */
const CAMERAS_IN_TURN = 200;

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
      .optional(),
    '`total_events` where it is not given, `reviewed_total_events`, `annotated_total_events`, or a category: then by the times the AI flagged it.',
    'smoke',
  ),
  q: parameter(
    identifier.optional(),
    'Only cameras whose id contains this text, in capital or small letters.',
    'ridge',
  ),
  counts: parameter(
    z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
    '`false` leaves out the counts; then the cameras are ordered by id, at a small part of the cost.',
    'false',
  ),
  limit: parameter(
    wholeNumber(1, MAX_LIMIT, DEFAULT_LIMIT),
    `How many cameras at most, 1 to ${MAX_LIMIT}; ${DEFAULT_LIMIT} if it is not given.`,
    10,
  ),
});

const cameraMembers = {
  camera_id: z.string(),
  last_event_at: answeredTime
    .optional()
    .describe(
      'The start of the last minute with a frame, on these days. Left out while the rows that say it are being repaired.',
    ),
};

const camerasSchema = z
  .strictObject({
    date: z.string().meta({ format: 'date' }).describe('The last UTC day.'),
    days: z.int().min(1).max(MAX_DAYS).describe('How many UTC days end with it.'),
    total_cameras: z
      .int()
      .min(0)
      .describe('How many cameras sent events on these days; with `q`, of those that it finds.'),
    cameras: z
      .union([
        z.array(z.strictObject({ ...cameraMembers, ...countMembers }).meta({ id: 'AnalyticsOfCamera' })),
        z.array(z.strictObject(cameraMembers).meta({ id: 'CameraWithoutCounts' })),
      ])
      .describe(`At most \`limit\`. The largest number first, equal ones by id.`),
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
              cameras: [{ camera_id: 'ridge-04', last_event_at: '2026-11-21T08:00:00+00:00', ...EXAMPLE_COUNTS }],
            },
          },
          csv: 'camera_id,total_events,last_event_at\r\nridge-04,2,2026-11-21T08:00:00+00:00\r\n',
        },
      },
      problems: queryProblems('date', DATE_FORM),
      handle: async ({ query: { date: asked, days, order_by, q, counts, limit } }) => {
        const day = asked ?? dayOf(now());
        const isAsked = (id: string): boolean => id.toLowerCase().includes(q?.toLowerCase() ?? '');
        if (counts === 'false') {
          if (order_by !== undefined)
            throw badRequest([{ code: 'invalid', field: 'order_by', detail: 'needs the counts' }]);
          const seen = [...(await reader.lastMinutes(day, days))].filter(([id]) => isAsked(id));
          const listed = seen
            .sort(([left], [right]) => (left < right ? -1 : 1))
            .slice(0, limit)
            .map(([camera_id, at]) => ({ camera_id, last_event_at: formatInstant(at) }));
          return {
            status: 200,
            jsonBody: { date: day, days, total_cameras: seen.length, cameras: listed },
            csv: () => [
              ['camera_id', 'last_event_at'],
              ...listed.map(({ camera_id, last_event_at }) => [camera_id, last_event_at]),
            ],
          };
        }
        const order = orderOf(order_by ?? 'total_events');
        const ofDays = await reader.cameras(day, days);
        const found = ofDays.filter(({ cameraId }) => isAsked(cameraId));
        const first = busiest(found, order, limit);
        const lastMinutes = await reader.lastMinutes(day, days, new Set(first.map(({ cameraId }) => cameraId)));
        // A category that no camera has is 0 for each of them, like one that is configured.
        const always = typeof order === 'string' ? categories : [...categories, order.category];
        const listed = await mapInTurns(first, CAMERAS_IN_TURN, (one) =>
          cameraAnswer(one, lastMinutes.get(one.cameraId), always),
        );
        return {
          status: 200,
          jsonBody: { date: day, days, total_cameras: found.length, cameras: listed },
          csv: () => {
            const { heads, rowOf } = countColumns(listed);
            return [
              ['camera_id', ...heads, 'last_event_at'],
              ...listed.map((one) => rowOf([one.camera_id], one).concat(one.last_event_at ?? '')),
            ];
          },
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
