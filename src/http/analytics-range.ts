import * as z from 'zod';

import { MICROSECONDS } from '../analytics/model/day.ts';
import { instantFrom, parseInstant, type Instant } from '../analytics/model/instant.ts';
import type { Period } from '../analytics/model/period.ts';
import {
  ACTIVITY_ANSWERS,
  activityAnswer,
  type AnalyticsDependencies,
  cameraId,
  queryProblems,
} from './analytics-answer.ts';
import { badRequest } from './problem.ts';
import { instant } from './request-values.ts';
import { operation, type Route, route } from './route/route.ts';

const MAX_DAYS = 366n;

/** A time in a query: UTC where it says no offset. A URL's decoder turns the + of an offset into a space. */
const time = (which: string, example: string) =>
  instant('a time such as 2026-11-21T08:00:00Z', (text) => parseInstant(text.replace(/ (?=\d{2}(?::?\d{2})?$)/, '+')))
    .optional()
    .meta({
      param: {
        description: `${which} ISO 8601 with \`Z\`, an offset, or nothing (then it is UTC); a \`+\` that became a space is understood.`,
        example,
      },
    });

const query = z.object({
  ts_utc_start: time('Start of the range, included.', '2026-11-21T00:00:00Z'),
  ts_utc_end: time('End of the range, included.', '2026-11-21T23:59:59.999999Z'),
  camera_id: cameraId,
});

/**
 * `GET /api/analytics`: what happened in a period, both ends included; without ends, in the window that ends now.
 *
 * @param windowSeconds the window's length in seconds
 */
export const analyticsRange = ({ reader, now, categories }: AnalyticsDependencies, windowSeconds: number): Route =>
  route({
    name: 'AnalyticsRange',
    path: 'analytics',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalytics',
      tag: 'analytics',
      summary: 'What happened in a period',
      description:
        'Both ends are included, to the microsecond; both are given or neither. Neither: the sliding window that ends now. At most 366 days.',
      query,
      answers: ACTIVITY_ANSWERS,
      problems: queryProblems('ts_utc_end', 'is missing: give both ends or neither'),
      handle: async ({ query: { ts_utc_start, ts_utc_end, camera_id } }) => {
        const period = periodOf(ts_utc_start, ts_utc_end, now(), windowSeconds);
        return activityAnswer(period, await reader.activity(period, camera_id), categories);
      },
    }),
  });

const periodOf = (
  start: Instant | undefined,
  end: Instant | undefined,
  now: Instant,
  windowSeconds: number,
): Period => {
  if (start === undefined && end === undefined) {
    return { start: instantFrom(now - BigInt(windowSeconds) * 1_000_000n), end: now };
  }
  if (start === undefined) throw wrong('ts_utc_start', 'is missing: give both ends or neither');
  if (end === undefined) throw wrong('ts_utc_end', 'is missing: give both ends or neither');
  if (start > end) throw wrong('ts_utc_start', 'is after ts_utc_end');
  if (end - start > MAX_DAYS * MICROSECONDS.day) {
    throw wrong('ts_utc_end', `is more than ${MAX_DAYS} days after ts_utc_start`);
  }
  return { start, end };
};

const wrong = (field: string, detail: string) => badRequest([{ field, detail }]);
