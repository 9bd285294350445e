import * as z from 'zod';

import { type Day, dayOf } from '../analytics/model/day.ts';
import { formatInstant } from '../analytics/model/instant.ts';
import type { Reader } from '../analytics/read/reader.ts';
import type { CsvRows } from '../csv.ts';
import { type AnalyticsDependencies, answeredTime } from './analytics-answer.ts';
import { camerasOfDays, camerasQuery, LAST_EVENT_AT, nameFilter } from './cameras-of-days.ts';
import { STORAGE_PROBLEMS } from './route/answers.ts';
import { operation, type Route, route } from './route/route.ts';

/** Which cameras are asked about. */
interface AskedCameras {
  readonly day: Day;
  /** How many UTC days end with it. */
  readonly days: number;
  readonly isAsked: (cameraId: string) => boolean;
  readonly limit: number;
}

/** When each camera last sent a frame, by id. Reads a small part of what the counts need. */
export const lastSeen = async (reader: Reader, { day, days, isAsked, limit }: AskedCameras) => {
  const seen = [...(await reader.lastMinutes(day, days))].filter(([id]) => isAsked(id));
  const cameras = seen
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .slice(0, limit)
    .map(([camera_id, at]) => ({ camera_id, last_event_at: formatInstant(at) }));
  return { date: day, days, total_cameras: seen.length, cameras };
};

/** The same as a table. */
export const lastSeenTable = ({ cameras }: Awaited<ReturnType<typeof lastSeen>>): CsvRows => [
  ['camera_id', 'last_event_at'],
  ...cameras.map(({ camera_id, last_event_at }) => [camera_id, last_event_at]),
];

/** `GET /api/analytics/cameras/last-seen`: which cameras sent frames on one UTC day or several, and when each did last. */
export const analyticsLastSeen = ({ reader, now }: Pick<AnalyticsDependencies, 'reader' | 'now'>): Route =>
  route({
    name: 'AnalyticsLastSeen',
    path: 'analytics/cameras/last-seen',
    authLevel: 'function',
    GET: operation({
      operationId: 'getLastSeenOfCameras',
      tag: 'analytics',
      summary: 'When each camera last sent a frame',
      description: 'The cameras of one or several UTC days, ordered by id, without their counts.',
      query: z.object(camerasQuery),
      conditional: true,
      answers: {
        200: {
          description: 'When each of them last sent a frame.',
          schema: camerasOfDays(
            z
              .object({ camera_id: z.string(), last_event_at: answeredTime.describe(LAST_EVENT_AT) })
              .meta({ id: 'LastSeenOfCamera' }),
          ).meta({ id: 'LastSeenOfCameras' }),
          examples: {
            day: {
              date: '2026-11-21',
              days: 1,
              total_cameras: 1,
              cameras: [{ camera_id: 'ridge-04', last_event_at: '2026-11-21T08:00:00+00:00' }],
            },
          },
        },
      },
      problems: STORAGE_PROBLEMS,
      handle: async ({ query: { date, q, ...asked } }) => {
        const jsonBody = await lastSeen(reader, { day: date ?? dayOf(now()), isAsked: nameFilter(q), ...asked });
        return { status: 200, jsonBody };
      },
    }),
  });
