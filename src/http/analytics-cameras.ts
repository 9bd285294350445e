import * as z from 'zod';

import { dayOf } from '../analytics/model/day.ts';
import { CATEGORY_FORM } from '../analytics/model/camera-event.ts';
import { formatInstant, type Instant } from '../analytics/model/instant.ts';
import type { Tally } from '../analytics/model/tally.ts';
import type { CameraActivity } from '../analytics/read/cameras-of-shard.ts';
import {
  accuracyMembers,
  type AnalyticsDependencies,
  answeredAccuracy,
  answeredCounts,
  answeredTime,
  countMembers,
  countsTable,
  ofAnalytics,
} from './analytics-answer.ts';
import { lastSeen, lastSeenTable } from './analytics-last-seen.ts';
import { camerasOfDays, camerasQuery, LAST_EVENT_AT } from './cameras-of-days.ts';
import { textFilter } from '../text-filter.ts';
import { badRequest } from './problem.ts';
import { flag } from './request-values.ts';
import { hidden, parameter } from './route/fields.ts';
import { get, type Route } from './route/route.ts';

/** The order of cameras: by one of three totals, or the detections of a category. */
type CameraOrder = 'total_events' | 'reviewed_total_events' | 'annotated_total_events' | { readonly category: string };

const rankOf = (tally: Tally, order: CameraOrder): number => {
  if (order === 'total_events') return tally.events;
  if (order === 'reviewed_total_events') return tally.reviewed;
  if (order === 'annotated_total_events') return tally.annotated;
  return tally.categories.get(order.category)?.detections ?? 0;
};

/** The first cameras in an order, the largest number first, equal ones by id. */
const busiest = (cameras: readonly CameraActivity[], order: CameraOrder, limit: number): readonly CameraActivity[] =>
  cameras
    .toSorted(
      (left, right) =>
        rankOf(right.tally, order) - rankOf(left.tally, order) || (left.cameraId < right.cameraId ? -1 : 1),
    )
    .slice(0, limit);

const orderOf = (text: string): CameraOrder =>
  text === 'total_events' || text === 'reviewed_total_events' || text === 'annotated_total_events'
    ? text
    : { category: text };

const query = z.object({
  ...camerasQuery,
  order_by: parameter(
    z
      .string()
      .regex(CATEGORY_FORM, 'must be total_events, reviewed_total_events, annotated_total_events or a category')
      .optional(),
    '`total_events` (the default), `reviewed_total_events`, `annotated_total_events`, or a category: then by the times the AI flagged it.',
    'smoke',
  ),
  accuracy: parameter(
    flag(false),
    '`true` adds `flagged`, `confirmed` and `missed` per category to the counts of each camera.',
    'true',
  ),
  counts: hidden(flag(true)),
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

/** `GET /api/analytics/cameras`: the counts of each camera over one UTC day or several, busiest first. */
export const analyticsCameras = ({ reader, now, categories }: AnalyticsDependencies): Route =>
  get('AnalyticsCameras', 'analytics/cameras', {
    ...ofAnalytics,
    operationId: 'getAnalyticsOfCameras',
    summary: 'The busiest cameras of UTC days',
    description:
      'The largest number first, equal ones by id. `counts=false` answers what `/api/analytics/cameras/last-seen` does.',
    query,
    answers: {
      200: {
        description:
          'The counts of each camera. Every configured category is present for each, and the category of `order_by`.',
        schema: camerasOfDays(camera).meta({ id: 'AnalyticsCameras' }),
        hasTable: true,
      },
    },
    handle: async ({ query: { date: day = dayOf(now()), days, order_by, q, counts, accuracy, limit } }) => {
      if (!counts) {
        const wrong = order_by !== undefined ? 'order_by' : accuracy ? 'accuracy' : undefined;
        if (wrong !== undefined)
          throw badRequest([{ code: 'invalid', field: wrong, detail: 'cannot be used with counts=false' }]);
        const unlistedBody = await lastSeen(reader, day, { days, q, limit });
        return { status: 200, unlistedBody, csv: () => lastSeenTable(unlistedBody) };
      }
      const order = orderOf(order_by ?? 'total_events');
      const isAsked = textFilter(q ?? '');
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
  last_event_at: lastMinute === undefined ? undefined : formatInstant(lastMinute),
  ...answeredCounts(tally, always),
  ...(withAccuracy && figuresOf(answeredAccuracy(tally, always))),
});

const figuresOf = (accuracy: ReturnType<typeof answeredAccuracy>) => {
  const figures = (of: keyof typeof accuracyMembers) =>
    Object.fromEntries(accuracy.map(([category, own]) => [category, own[of]]));
  return { flagged: figures('flagged'), confirmed: figures('confirmed'), missed: figures('missed') };
};
