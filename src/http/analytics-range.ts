import type { HttpHandler } from '@azure/functions';

import { MICROSECONDS } from '../analytics/model/day.ts';
import { instantFrom, type Instant } from '../analytics/model/instant.ts';
import type { Period } from '../analytics/model/period.ts';
import type { Reader } from '../analytics/read/reader.ts';
import { activityAnswer } from './analytics-answer.ts';
import { rangeQuery } from './analytics-query.ts';
import { answering } from './problem.ts';
import { badQuery, readQuery } from './query.ts';
import { storageProblem } from './storage-problem.ts';

const MOST_DAYS = 366n;

/** What the analytics endpoints need. */
export interface AnalyticsDependencies {
  readonly reader: Reader;
  /** The current time. */
  readonly now: () => Instant;
  /** Categories that are always present in the answers. */
  readonly categories: readonly string[];
}

const periodOf = (
  start: Instant | undefined,
  end: Instant | undefined,
  now: Instant,
  windowSeconds: number,
): Period => {
  if (start === undefined && end === undefined) {
    return { start: instantFrom(now - BigInt(windowSeconds) * 1_000_000n), end: now };
  }
  if (start === undefined) throw badQuery([{ field: 'ts_utc_start', detail: 'is missing: give both ends or neither' }]);
  if (end === undefined) throw badQuery([{ field: 'ts_utc_end', detail: 'is missing: give both ends or neither' }]);
  if (start > end) throw badQuery([{ field: 'ts_utc_start', detail: 'is after ts_utc_end' }]);
  if (end - start > MOST_DAYS * MICROSECONDS.day) {
    throw badQuery([{ field: 'ts_utc_end', detail: `is more than ${MOST_DAYS} days after ts_utc_start` }]);
  }
  return { start, end };
};

/**
 * `GET /api/analytics`: what happened in a period, both ends included; without ends, in the window that ends now.
 *
 * @param windowSeconds the window's length in seconds
 */
export const analyticsRange = (
  { reader, now, categories }: AnalyticsDependencies,
  windowSeconds: number,
): HttpHandler =>
  answering(async (request) => {
    const query = readQuery(request, rangeQuery);
    const period = periodOf(query.ts_utc_start, query.ts_utc_end, now(), windowSeconds);
    return activityAnswer(period, await reader.activity(period, query.camera_id), categories);
  }, storageProblem);
