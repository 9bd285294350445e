import * as z from 'zod';

import type { Counts, EventMessage, Facet, Facets } from '../analytics/model/camera-event.ts';
import { MAX_CAMERA_CATEGORIES } from '../analytics/model/camera-event.ts';
import { MICROSECONDS } from '../analytics/model/day.ts';
import { CATEGORY_FORM, MAX_ID_LENGTH } from '../analytics/model/identifier.ts';
import { hasOffset, parseInstant, type Instant } from '../analytics/model/instant.ts';
import { quotable } from './problem.ts';
import { identifier, instant } from './request-values.ts';

/** The CloudEvents type of a message about a camera's event. */
export const CAMERA_EVENT_TYPE = 'CameraEvent.Changed';

const MAX_COUNT = 10_000;
const EARLIEST = parseInstant('2000-01-01T00:00:00Z');

// RFC 3339, which CloudEvents asks for: a time without an offset could order messages wrongly without any error.
const asOfTime = instant('a time with an offset, such as 2026-11-21T08:00:02.5Z', (text) =>
  hasOffset(text) ? parseInstant(text) : undefined,
);
const frameTime = instant('a time such as 2026-11-21T08:00:00.123456Z');

const COUNT = { error: `must be an integer from 0 to ${MAX_COUNT}` };

const count = z
  .number(COUNT)
  .refine((value) => Number.isInteger(value) && value >= 0 && value <= MAX_COUNT, COUNT)
  .meta({ type: 'integer', minimum: 0, maximum: MAX_COUNT });

const NO_CATEGORY = 'is no category: a letter, then up to 63 letters, digits, _ or -';

const counts = z.record(z.string().regex(CATEGORY_FORM, NO_CATEGORY), count, {
  error: ({ code }) => (code === 'invalid_key' ? NO_CATEGORY : 'must be an object that maps categories to counts'),
});

/**
 * One CloudEvent about a camera's event, as a producer sends it. Context attributes and members of `data` that are not named
 * here are passed over, as CloudEvents asks.
 */
export const cameraEventSchema = z
  .object(
    {
      specversion: z.literal('1.0', { error: 'must be "1.0"' }),
      id: identifier.describe(`1 to ${MAX_ID_LENGTH} characters.`),
      source: z.string({ error: 'must be a string' }).min(1, 'is empty'),
      type: z.literal(CAMERA_EVENT_TYPE, { error: `must be "${CAMERA_EVENT_TYPE}"` }),
      time: asOfTime.describe(
        'As of when the facets are the truth; of each facet the newest wins. At most one day ahead of now.',
      ),
      data: z.object(
        {
          event_id: identifier.describe(`Which event; 1 to ${MAX_ID_LENGTH} characters.`),
          camera_id: identifier.describe(`Which camera; 1 to ${MAX_ID_LENGTH} characters.`),
          ts_utc: frameTime.describe('When the frame was taken; UTC where there is no offset.'),
          detections: counts.optional().describe('What the AI flagged, and how often: all of it, as of `time`.'),
          reviewed: z
            .boolean({ error: 'must be true or false' })
            .optional()
            .describe('Whether an operator reviewed the event, as of `time`.'),
          annotations: counts.optional().describe('What is annotated, and how often: all of it, as of `time`.'),
        },
        { error: 'must be an object' },
      ),
    },
    { error: 'must be an object: a CloudEvent' },
  )
  .meta({ id: 'CameraEvent' });

const facet = <Value>(value: Value, asOf: Instant): Facet<Value> => ({ value, time: asOf });

const countsOf = (value: Readonly<Record<string, number>>): Counts => new Map(Object.entries(value));

/** What one element of a request is: a message, or what is wrong with it, in words. */
export type ParsedEvent = { readonly message: EventMessage } | { readonly detail: string };

const MOST_ISSUES = 5;

/**
 * One element of a request → a message.
 *
 * @param now the current time: an event, and the `time` of a message, may be at most a day ahead of it
 */
export const parseCameraEvent = (element: unknown, now: Instant): ParsedEvent => {
  const parsed = cameraEventSchema.safeParse(element);
  if (!parsed.success) {
    const details = parsed.error.issues.map(({ path, message }) =>
      [path.map((step) => quotable(String(step))).join('.'), message].join(' ').trim(),
    );
    return { detail: details.slice(0, MOST_ISSUES).join('; ') };
  }
  if (hasPrototypeKey(element)) return { detail: 'data has the category __proto__, which is no category' };
  const { time: asOf, data } = parsed.data;
  const detail = rangeProblem(asOf, data, now);
  if (detail !== undefined) return { detail };
  const facets: Facets = {
    ...(data.detections !== undefined && { detections: facet(countsOf(data.detections), asOf) }),
    ...(data.reviewed !== undefined && { reviewed: facet(data.reviewed, asOf) }),
    ...(data.annotations !== undefined && { annotations: facet(countsOf(data.annotations), asOf) }),
  };
  return { message: { eventId: data.event_id, cameraId: data.camera_id, ts: data.ts_utc, facets } };
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Whether counts have the key that zod passes over, as it may not be set on an object like any other. */
const hasPrototypeKey = (element: unknown): boolean => {
  const data = isObject(element) ? element['data'] : undefined;
  return (
    isObject(data) &&
    [data['detections'], data['annotations']].some(
      (counted) => isObject(counted) && Object.hasOwn(counted, '__proto__'),
    )
  );
};

const rangeProblem = (
  asOf: Instant,
  data: z.infer<typeof cameraEventSchema>['data'],
  now: Instant,
): string | undefined => {
  // A clock that is wrong must not freeze a facet for ever.
  if (asOf > now + MICROSECONDS.day) return 'time is more than one day ahead of now';
  if (EARLIEST !== undefined && data.ts_utc < EARLIEST) return 'data.ts_utc is before 2000-01-01';
  if (data.ts_utc > now + MICROSECONDS.day) return 'data.ts_utc is more than one day ahead of now';
  const categories = new Set([...Object.keys(data.detections ?? {}), ...Object.keys(data.annotations ?? {})]);
  if (categories.size > MAX_CAMERA_CATEGORIES) return `data has more than ${MAX_CAMERA_CATEGORIES} categories`;
  return undefined;
};
