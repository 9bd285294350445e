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
  accuracyMembers,
  type AnalyticsDependencies,
  answeredCounts,
  answeredTime,
  countMembers,
  countsTable,
} from './analytics-answer.ts';
import { lastSeen, lastSeenTable } from './analytics-last-seen.ts';
import { camerasOfDays, camerasQuery, LAST_EVENT_AT, nameFilter } from './cameras-of-days.ts';
import { badRequest } from './problem.ts';
import { flag } from './request-values.ts';
import { STORAGE_PROBLEMS } from './route/answers.ts';
import { hidden, parameter } from './route/fields.ts';
import { get, type Route } from './route/route.ts';

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
  accuracy: parameter(
    flag(false),
    '`true` adds `flagged`, `confirmed` and `missed` per category to the counts of each camera.',
    'true',
  ),
  counts: hidden(flag(true)),
  limit: camerasQuery.limit,
});

const perCategory = (figure: z.ZodType<number>) => z.record(z.string(), figure).optional();

const camera = z
  .object({
    camera_id: z.string(),
    last_event_at: answeredTime.optional().describe(LAST_EVENT_AT),
    ...countMembers,
    flagged: perCategory(accuracyMembers.flagged),
    confirmed: perCategory(accuracyMembers.confirmed),
    missed: perCategory(accuracyMembers.missed),
  })
  .meta({ id: 'AnalyticsOfCamera' });

/** `GET /api/analytics/cameras`: the cameras of one UTC day or several, the busiest over all of them first. */
export const analyticsCameras = ({ reader, now, categories }: AnalyticsDependencies): Route =>
  get('AnalyticsCameras', 'analytics/cameras', {
    authLevel: 'function',
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
        hasTable: true,
      },
    },
    problems: STORAGE_PROBLEMS,
    handle: async ({ query: { date: day = dayOf(now()), days, order_by, q, counts, accuracy, limit } }) => {
      const isAsked = nameFilter(q);
      if (!counts) {
        const wrong = order_by !== undefined ? 'order_by' : accuracy ? 'accuracy' : undefined;
        if (wrong !== undefined)
          throw badRequest([{ code: 'invalid', field: wrong, detail: 'cannot be used with counts=false' }]);
        const unlistedBody = await lastSeen(reader, { day, days, isAsked, limit });
        return { status: 200, unlistedBody, csv: () => lastSeenTable(unlistedBody) };
      }
      const order = orderOf(order_by ?? 'total_events');
      const found = (await reader.cameras(day, days)).filter(({ cameraId }) => isAsked(cameraId));
      const first = busiest(found, order, limit);
      const lastMinutes = await reader.lastMinutes(day, days, new Set(first.map(({ cameraId }) => cameraId)));
      // A category that no camera has is 0 for each of them, like a configured category.
      const always = typeof order === 'string' ? categories : [...categories, order.category];
      const cameras = first.map((one) => cameraAnswer(one, lastMinutes.get(one.cameraId), always, accuracy));
      return {
        status: 200,
        jsonBody: { date: day, days, total_cameras: found.length, cameras },
        csv: () => countsTable(cameras, ['camera_id'], ['last_event_at']),
      };
    },
  });

const cameraAnswer = (
  { cameraId, tally }: CameraActivity,
  lastMinute: Instant | undefined,
  always: readonly string[],
  withAccuracy: boolean,
) => ({
  camera_id: cameraId,
  last_event_at: lastMinute && formatInstant(lastMinute),
  ...answeredCounts(tally, always),
  ...(withAccuracy && answeredAccuracy(tally, always)),
});

const answeredAccuracy = (tally: Tally, always: readonly string[]) => {
  const categories = Array.from(
    withConfiguredCategories(tally, always).categories,
    ([category, own]) => [category, accuracyOf(own)] as const,
  );
  const figures = (of: keyof typeof accuracyMembers): Record<string, number> =>
    Object.fromEntries(categories.map(([category, own]) => [category, own[of]]));
  return { flagged: figures('flagged'), confirmed: figures('confirmed'), missed: figures('missed') };
};
