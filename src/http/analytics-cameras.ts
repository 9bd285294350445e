import * as z from 'zod';

import { accuracyOf } from '../analytics/model/accuracy.ts';
import { busiest, type CameraOrder } from '../analytics/model/camera-order.ts';
import { dayOf } from '../analytics/model/day.ts';
import { CATEGORY_FORM } from '../analytics/model/identifier.ts';
import { formatInstant, type Instant } from '../analytics/model/instant.ts';
import { withConfiguredCategories } from '../analytics/model/configured-categories.ts';
import type { Tally } from '../analytics/model/tally.ts';
import type { CameraActivity } from '../analytics/read/reader.ts';
import {
  type AnalyticsDependencies,
  answeredCounts,
  answeredTime,
  countColumns,
  countMembers,
  DATE_FORM,
  daysParameters,
  EXAMPLE_COUNTS,
  MAX_DAYS,
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

const query = z.object({
  ...daysParameters,
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
  accuracy: parameter(
    z.enum(['true', 'false'], { error: 'must be true or false' }).default('false'),
    '`true` adds `flagged`, `confirmed` and `missed` per category to the counts of each camera.',
    'true',
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

const perCategory = (description: string) =>
  z.record(z.string(), z.int().min(0)).optional().describe(`${description} Only with \`accuracy=true\`.`);

const accuracyPerCategory = {
  flagged: perCategory('Reviewed events in which the AI flagged each category.'),
  confirmed: perCategory('Of those, the events with an annotation of the category.'),
  missed: perCategory('Reviewed events with an annotation of the category that the AI had not flagged.'),
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
        z.array(
          z
            .strictObject({ ...cameraMembers, ...countMembers, ...accuracyPerCategory })
            .meta({ id: 'AnalyticsOfCamera' }),
        ),
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
      handle: async ({ query: { date: asked, days, order_by, q, counts, accuracy, limit } }) => {
        const day = asked ?? dayOf(now());
        const isAsked = (id: string): boolean => id.toLowerCase().includes(q?.toLowerCase() ?? '');
        if (counts === 'false') {
          const wrong = order_by !== undefined ? 'order_by' : accuracy === 'true' ? 'accuracy' : undefined;
          if (wrong !== undefined) throw badRequest([{ code: 'invalid', field: wrong, detail: 'needs the counts' }]);
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
          cameraAnswer(one, lastMinutes.get(one.cameraId), always, accuracy === 'true'),
        );
        return {
          status: 200,
          jsonBody: { date: day, days, total_cameras: found.length, cameras: listed },
          csv: () => {
            const { heads, rowOf } = countColumns(listed);
            const right = accuracy === 'true' ? accuracyColumns(listed) : { heads: [], rowOf: () => [] };
            return [
              ['camera_id', ...heads, ...right.heads, 'last_event_at'],
              ...listed.map((one) => rowOf([one.camera_id], one).concat(right.rowOf(one), one.last_event_at ?? '')),
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
  withAccuracy: boolean,
) => ({
  camera_id: cameraId,
  last_event_at: lastMinute && formatInstant(lastMinute),
  ...answeredCounts(tally, known),
  ...(withAccuracy && answeredAccuracy(tally, known)),
});

const FIGURES = ['flagged', 'confirmed', 'missed'] as const;

const answeredAccuracy = (tally: Tally, known: readonly string[]) => {
  const categories = Array.from(
    withConfiguredCategories(tally, known).categories,
    ([category, own]) => [category, accuracyOf(own)] as const,
  );
  const figures = (of: (typeof FIGURES)[number]): Record<string, number> =>
    Object.fromEntries(categories.map(([category, own]) => [category, own[of]]));
  return { flagged: figures('flagged'), confirmed: figures('confirmed'), missed: figures('missed') };
};

/** The columns of accuracy in a table of cameras: one for each figure and category. */
const accuracyColumns = (all: readonly ReturnType<typeof cameraAnswer>[]) => {
  const categories = [...new Set(all.flatMap(({ flagged = {} }) => Object.keys(flagged)))].sort();
  return {
    heads: FIGURES.flatMap((figure) => categories.map((category) => `${figure}.${category}`)),
    rowOf: (one: ReturnType<typeof cameraAnswer>): readonly number[] =>
      FIGURES.flatMap((figure) => {
        const own = new Map(Object.entries(one[figure] ?? {}));
        return categories.map((category) => own.get(category) ?? 0);
      }),
  };
};
