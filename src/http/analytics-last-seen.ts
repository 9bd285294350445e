import * as z from 'zod';

import { type Day, dayOf } from '../analytics/model/day.ts';
import { formatInstant } from '../analytics/model/instant.ts';
import type { Reader } from '../analytics/read/reader.ts';
import type { CsvRows } from '../csv.ts';
import { textFilter } from '../text-filter.ts';
import { type AnalyticsDependencies, answeredTime, ofAnalytics } from './analytics-answer.ts';
import { camerasOfDays, camerasQuery, LAST_EVENT_AT } from './cameras-of-days.ts';
import { get, type Route } from './route/route.ts';

/** When each camera last sent a frame, by id. Reads far fewer rows than a question for counts. */
export const lastSeen = async (
  reader: Reader,
  day: Day,
  { days, q, limit }: { readonly days: number; readonly q?: string | undefined; readonly limit: number },
) => {
  const isAsked = textFilter(q ?? '');
  const seen = [...(await reader.lastMinutes(day, days))].filter(([id]) => isAsked(id));
  const cameras = seen
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .slice(0, limit)
    .map(([camera_id, at]) => ({ camera_id, last_event_at: formatInstant(at) }));
  return { date: day, days, total_cameras: seen.length, cameras };
};

export const lastSeenTable = ({ cameras }: Awaited<ReturnType<typeof lastSeen>>): CsvRows => [
  ['camera_id', 'last_event_at'],
  ...cameras.map(({ camera_id, last_event_at }) => [camera_id, last_event_at]),
];

/** `GET /api/analytics/cameras/last-seen`: the cameras that sent frames on one UTC day or several, each with the minute of its last frame. */
export const analyticsLastSeen = ({ reader, now }: Pick<AnalyticsDependencies, 'reader' | 'now'>): Route =>
  get('AnalyticsLastSeen', 'analytics/cameras/last-seen', {
    ...ofAnalytics,
    operationId: 'getLastSeenOfCameras',
    summary: 'When each camera last sent a frame',
    description: 'The cameras of one or several UTC days, ordered by id, without their counts.',
    query: z.object(camerasQuery),
    answers: {
      200: {
        description: 'When each of them last sent a frame.',
        schema: camerasOfDays(
          z
            .object({ camera_id: z.string(), last_event_at: answeredTime.describe(LAST_EVENT_AT) })
            .meta({ id: 'LastSeenOfCamera' }),
        ).meta({
          id: 'LastSeenOfCameras',
          examples: [
            {
              date: '2026-11-20',
              days: 1,
              total_cameras: 1,
              cameras: [{ camera_id: 'ridge-04', last_event_at: '2026-11-20T08:00:00+00:00' }],
            },
          ],
        }),
      },
    },
    handle: async ({ query: { date = dayOf(now()), ...asked } }) => ({
      status: 200,
      jsonBody: await lastSeen(reader, date, asked),
    }),
  });
