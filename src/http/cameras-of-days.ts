import * as z from 'zod';

import { daysMembers, daysParameters } from './analytics-answer.ts';
import { identifier, integer } from './request-values.ts';
import { parameter } from './route/fields.ts';

const MAX_LIMIT = 5_000;
const DEFAULT_LIMIT = 50;

export const camerasQuery = {
  ...daysParameters,
  q: parameter(
    identifier.optional(),
    'Only cameras whose id contains this text, in capital or small letters.',
    'ridge',
  ),
  limit: parameter(
    integer(1, MAX_LIMIT, DEFAULT_LIMIT),
    `How many cameras at most, 1 to ${MAX_LIMIT}. By default ${DEFAULT_LIMIT}.`,
    10,
  ),
};

export const LAST_EVENT_AT = 'The start of the last minute with a frame, on these days.';

export const camerasOfDays = <Camera extends z.ZodObject>(camera: Camera) =>
  z.object({
    ...daysMembers,
    total_cameras: z
      .int()
      .min(0)
      .describe('How many cameras sent events on these days; with `q`, only the cameras that it finds.'),
    cameras: z.array(camera).describe('At most `limit`.'),
  });
