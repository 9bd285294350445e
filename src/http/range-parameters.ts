import type * as z from 'zod';

import { MICROSECONDS } from '../analytics/model/day.ts';
import { parseInstant, type Instant } from '../analytics/model/instant.ts';
import { type Period, slidingWindow } from '../analytics/model/period.ts';
import type { FaultCode } from './problem-types.ts';
import { instant, UTC_TIME_PATTERN } from './request-values.ts';
import { fault } from './route/faults.ts';
import { parameter, whenRight } from './route/fields.ts';

const MAX_DAYS = 366n;

/** A time in a query: UTC if it has no offset. A URL's decoder turns the + of an offset into a space. */
const parseQueryTime = (text: string): Instant | undefined =>
  parseInstant(text.replace(/ (?=\d{2}(?::?\d{2})?$)/, '+'));

/** A time in a query. @param which time it is, in words */
export const timeParameter = (which: string, example: string) =>
  parameter(
    instant('a time such as 2026-11-21T08:00:00Z', { pattern: UTC_TIME_PATTERN }, parseQueryTime).optional(),
    `${which} ISO 8601 with \`Z\`, an offset, or nothing (then it is UTC); a \`+\` that became a space is understood.`,
    example,
  );

export const rangeParameters = {
  ts_utc_start: timeParameter('Start of the range, included.', '2026-11-21T00:00:00Z'),
  ts_utc_end: timeParameter('End of the range, included.', '2026-11-21T23:59:59.999999Z'),
};

export const RANGE_RULES =
  'Both ends are included, to the microsecond; both are given or neither. Neither: the sliding window. If its length is at least an hour and whole minutes, it ends with the current minute, otherwise now. At most 366 days. In closed days a range is widened to whole minutes, and the answer says so: the answers for two ranges that meet within a minute then both have that minute.';

type Range = z.output<z.ZodObject<typeof rangeParameters>>;

const wrongEnd = (field: keyof Range, code: FaultCode, detail: string) => fault(code, detail, { path: [field] });

export const notReversed = ({ ts_utc_start: start, ts_utc_end: end }: Range, context: z.RefinementCtx): void => {
  if (start === undefined || end === undefined || start <= end) return;
  context.addIssue(wrongEnd('ts_utc_start', 'reversed', 'is after ts_utc_end'));
};

/** The rule of both ends of a range: both are given or neither, the start first, not too far apart. */
export const rangeRule = (range: Range, context: z.RefinementCtx): void => {
  const { ts_utc_start: start, ts_utc_end: end } = range;
  if (start === undefined && end !== undefined) context.addIssue(wrongEnd('ts_utc_start', 'missing', ONE_END));
  if (start !== undefined && end === undefined) context.addIssue(wrongEnd('ts_utc_end', 'missing', ONE_END));
  notReversed(range, context);
  if (start === undefined || end === undefined || end - start <= MAX_DAYS * MICROSECONDS.day) return;
  context.addIssue(wrongEnd('ts_utc_end', 'too_late', `is more than ${MAX_DAYS} days after ts_utc_start`));
};

export const WHEN_ENDS_ARE_RIGHT = whenRight('ts_utc_start', 'ts_utc_end');

const ONE_END = 'is missing: send both ends or neither';

/**
 * The period that the parameters of a range ask about, which {@link rangeRule} has checked.
 *
 * @param windowSeconds the length of the sliding window, in seconds
 */
export const periodOf = (
  { ts_utc_start: start, ts_utc_end: end }: Range,
  now: Instant,
  windowSeconds: number,
): Period => (start === undefined || end === undefined ? slidingWindow(now, windowSeconds) : { start, end });
