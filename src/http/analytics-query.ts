import * as z from 'zod';

import { isDay } from '../analytics/model/day.ts';
import { idProblem } from '../analytics/model/identifier.ts';
import { parseInstant, type Instant } from '../analytics/model/instant.ts';

/** A camera's id in a query. */
const cameraId = z.string().superRefine((id, context) => {
  const problem = idProblem(id);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

/** A time in a query: UTC where it says no offset. A URL's decoder turns the + of an offset into a space. */
const time = z.string().transform((text, context): Instant => {
  const instant = parseInstant(text.replace(/ (?=\d{2}(?::?\d{2})?$)/, '+'));
  if (instant !== undefined) return instant;
  context.addIssue({ code: 'custom', message: 'must be a time such as 2026-11-21T08:00:00Z' });
  return z.NEVER;
});

const day = z.string().refine(isDay, 'must be a day that exists, such as 2026-11-21');

/** The parameters of `GET /api/analytics`. */
export const rangeQuery = z.object({
  ts_utc_start: time.optional(),
  ts_utc_end: time.optional(),
  camera_id: cameraId.optional(),
});

/** The parameters of `GET /api/analytics/day`. */
export const dayQuery = z.object({ date: day.optional(), camera_id: cameraId.optional() });
