import * as z from 'zod';

import { idProblem, MAX_ID_LENGTH } from '../analytics/model/identifier.ts';
import { type Instant, parseInstant } from '../analytics/model/instant.ts';

/** The id of a camera or an event in a request. */
export const identifier = z
  .string({ error: 'must be a string' })
  .superRefine((text, context) => {
    const problem = idProblem(text);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ minLength: 1, maxLength: MAX_ID_LENGTH });

/**
 * A whole number in a query. The description has it as an integer.
 *
 * @param fallback if none is given
 */
export const wholeNumber = (least: number, most: number, fallback: number) =>
  z
    .string()
    .refine(
      (text) => /^(?:0|[1-9]\d{0,8})$/.test(text) && Number(text) >= least && Number(text) <= most,
      `must be a whole number from ${least} to ${most}`,
    )
    .optional()
    .transform((text) => (text === undefined ? fallback : Number(text)))
    .meta({ type: 'integer', minimum: least, maximum: most });

/**
 * A time in a request.
 *
 * @param form what it must be, in words
 * @param parse undefined for text that is not of that form
 */
export const instant = (form: string, parse: (text: string) => Instant | undefined = parseInstant) =>
  z.string({ error: `must be ${form}` }).transform((text, context): Instant => {
    const parsed = parse(text);
    if (parsed !== undefined) return parsed;
    context.addIssue({ code: 'custom', message: `must be ${form}` });
    return z.NEVER;
  });
