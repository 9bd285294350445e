import * as z from 'zod';

import { PHONE_NUMBER_PATTERN } from '../calls/phone-number.ts';

/*
 * What the endpoints answer with, as schemas: for the API's description and for the tests that hold every real answer against it.
 * No answer has members that are not here.
 */

const count = z.int().min(0);
const countsPerCategory = z.record(z.string(), count);
const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?\+00:00$/)
  .describe('UTC; a fraction (microseconds) only where there is one.');

/** The answer of both analytics endpoints. */
export const analyticsAnswerSchema = z.strictObject({
  ts_utc_start: time,
  ts_utc_end: time.describe('The last microsecond of the period: both ends are included.'),
  total_events: count.describe('Camera frames in the period.'),
  active_cameras: count.describe('How many distinct cameras sent them.'),
  active_camera_ids: z.array(z.string()).describe('Those cameras, sorted.'),
  counts_per_category: countsPerCategory.describe('Times the AI flagged each category.'),
  reviewed_total_events: count.describe('Events that an operator reviewed.'),
  reviewed_counts_per_category: countsPerCategory.describe(
    'Of the reviewed events, how many have at least one annotation of the category.',
  ),
  annotated_total_events: count.describe('Events that have annotations.'),
  annotated_counts_per_category: countsPerCategory.describe('Annotations per category, over all events.'),
});

const recordedCounts = {
  recorded: count.describe('Events of which something new was stored.'),
  unchanged: count.describe('Events that were known already: repeated or older messages.'),
};

/** The answer to recorded events. */
export const recordAnswerSchema = z.strictObject(recordedCounts);

/** What became of the call to one recipient. */
const callOutcome = z.discriminatedUnion('status', [
  z.strictObject({
    recipient: z.string().regex(PHONE_NUMBER_PATTERN),
    status: z.literal('placed'),
    call_connection_id: z.string().min(1),
  }),
  z.strictObject({
    recipient: z.string().regex(PHONE_NUMBER_PATTERN),
    status: z.literal('failed'),
    reason: z.string().min(1).describe('In words.'),
  }),
]);

/** The answer to placed calls: one outcome per recipient, in the order of the request. */
export const callsAnswerSchema = z.strictObject({ calls: z.array(callOutcome).min(1).max(50) });

/** The answer of a healthy service. It says no more: anyone may ask. */
export const healthAnswerSchema = z.strictObject({ status: z.literal('ok') });

const problemMembers = {
  type: z.literal('about:blank'),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string().describe('For a person to read and act on.'),
  errors: z
    .array(
      z.union([
        z.strictObject({ field: z.string(), detail: z.string() }),
        z.strictObject({ index: count.describe('Of the array in the request.'), detail: z.string() }),
      ]),
    )
    .optional()
    .describe('Every single thing that is wrong.'),
};

/** An error (RFC 9457). */
export const problemSchema = z.strictObject(problemMembers);

/** The error that tells which events of a batch were wrong, while the others were recorded. */
export const recordProblemSchema = z.strictObject({
  ...problemMembers,
  recorded: recordedCounts.recorded.optional(),
  unchanged: recordedCounts.unchanged.optional(),
});

/** The error that tells that nobody could be called, and why each. */
export const callsProblemSchema = z.strictObject({
  ...problemMembers,
  calls: callsAnswerSchema.shape.calls.optional(),
});
