import type * as z from 'zod';

import { MICROSECONDS } from '../analytics/model/day.ts';
import { instantFrom, parseInstant, type Instant } from '../analytics/model/instant.ts';
import type { Period } from '../analytics/model/period.ts';
import { badRequest } from './problem.ts';
import { instant } from './request-values.ts';
import { parameter } from './route/fields.ts';

const MAX_DAYS = 366n;

/** A time in a query: UTC where it says no offset. A URL's decoder turns the + of an offset into a space. */
const time = (which: string, example: string) =>
  parameter(
    instant('a time such as 2026-11-21T08:00:00Z', (text) =>
      parseInstant(text.replace(/ (?=\d{2}(?::?\d{2})?$)/, '+')),
    ).optional(),
    `${which} ISO 8601 with \`Z\`, an offset, or nothing (then it is UTC); a \`+\` that became a space is understood.`,
    example,
  );

/** The query parameters of a range. */
export const rangeParameters = {
  ts_utc_start: time('Start of the range, included.', '2026-11-21T00:00:00Z'),
  ts_utc_end: time('End of the range, included.', '2026-11-21T23:59:59.999999Z'),
};

/** What the description says about them. */
export const RANGE_RULES =
  'Both ends are included, to the microsecond; both are given or neither. Neither: the sliding window that ends now. At most 366 days.';

/**
 * The period that the parameters of a range ask about.
 *
 * @param windowSeconds the length of the window that ends now, in seconds
 * @throws {Problem} 400 where one end is missing, the start is after the end, or the range is too long
 */
export const periodOf = (
  { ts_utc_start: start, ts_utc_end: end }: z.output<z.ZodObject<typeof rangeParameters>>,
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
