import * as z from 'zod';

import {
  CAMERA_EVENT_TYPE,
  CATEGORY_FORM,
  type Counts,
  type EventMessage,
  type Facets,
  MAX_CAMERA_CATEGORIES,
  MAX_COUNT,
  MAX_ID_LENGTH,
  NO_COUNTS,
} from '../analytics/model/camera-event.ts';
import { MICROSECONDS } from '../analytics/model/day.ts';
import { hasOffset, parseInstant, type Instant } from '../analytics/model/instant.ts';
import type { ProblemError } from './problem.ts';
import { FRAME_TIME_PATTERN, identifier, instant, TIME_PATTERN } from './request-values.ts';
import { type Fault, fault, faultsOf, type Listed, listed, valueAt } from './route/faults.ts';
import { whenRight } from './route/fields.ts';

const EARLIEST = parseInstant('2000-01-01T00:00:00Z');

// RFC 3339, which CloudEvents asks for: a time without an offset could order messages wrongly without any error.
const asOfTime = instant(
  'a time with an offset, such as 2026-11-21T08:00:02.5Z',
  { format: 'date-time', pattern: TIME_PATTERN },
  (text) => (hasOffset(text) ? parseInstant(text) : undefined),
);
const frameTime = instant('a time such as 2026-11-21T08:00:00.123456Z', { pattern: FRAME_TIME_PATTERN }).superRefine(
  (at, context) => {
    if (EARLIEST !== undefined && at < EARLIEST) context.addIssue(fault('too_early', 'is before 2000-01-01'));
  },
);

const COUNT = { error: `must be an integer from 0 to ${MAX_COUNT}` };

const count = z
  .number(COUNT)
  .superRefine((value, context) => {
    if (!Number.isInteger(value)) context.addIssue(fault('invalid', COUNT.error));
    else if (value < 0 || value > MAX_COUNT) context.addIssue(fault('out_of_range', COUNT.error));
  })
  .meta({ type: 'integer', minimum: 0, maximum: MAX_COUNT });

const NO_CATEGORY = 'is not a category name: a letter, then up to 63 letters, digits, _ or -';

const counts = z
  .record(z.string().regex(CATEGORY_FORM, NO_CATEGORY), count, {
    error: ({ code }) => (code === 'invalid_key' ? NO_CATEGORY : 'must be an object that maps categories to counts'),
  })
  .meta({ maxProperties: MAX_CAMERA_CATEGORIES });

const ID_RULE = 'A character beyond the basic plane, such as an emoji, counts twice.';
const CATEGORIES_RULE = `One camera has at most ${MAX_CAMERA_CATEGORIES} categories in one day, in \`detections\` and \`annotations\` together.`;

/** The context attributes that are read. */
export const ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time'] as const;

const TOO_MANY_CATEGORIES = `has more than ${MAX_CAMERA_CATEGORIES} categories`;

/**
 * One CloudEvent about a camera's event, as a producer sends it. Context attributes that are not named here are ignored, as
 * CloudEvents asks. A member of `data` that is not named here is refused: a misspelled facet would silently lose counts.
 */
export const cameraEventSchema = z
  .object(
    {
      specversion: z.literal('1.0', { error: 'must be "1.0"' }),
      id: identifier.describe(`1 to ${MAX_ID_LENGTH} characters. ${ID_RULE}`),
      source: z.string({ error: 'must be a string' }).min(1, 'is empty'),
      type: z.literal(CAMERA_EVENT_TYPE, { error: `must be "${CAMERA_EVENT_TYPE}"` }),
      time: asOfTime.describe(
        'When the sender knew these facets. The newest value of a facet wins; an older value is `superseded`. At most one day ahead of now.',
      ),
      data: z
        .strictObject(
          {
            event_id: identifier.describe(`Which event; 1 to ${MAX_ID_LENGTH} characters. ${ID_RULE}`),
            camera_id: identifier.describe(`Which camera; 1 to ${MAX_ID_LENGTH} characters. ${ID_RULE}`),
            ts_utc: frameTime.describe(
              'When the frame was taken; UTC if it has no offset. From 2000-01-01 to one day ahead of now, on a day that is not closed. It never changes for an event.',
            ),
            detections: counts
              .optional()
              .describe(`All flags of the AI as of \`time\`: category → count. ${CATEGORIES_RULE}`),
            reviewed: z
              .boolean({ error: 'must be true or false' })
              .optional()
              .describe('Whether an operator reviewed the event, as of `time`.'),
            annotations: counts
              .optional()
              .describe(`All annotations as of \`time\`: category → count. ${CATEGORIES_RULE}`),
            removed: z
              .boolean({ error: 'must be true or false' })
              .optional()
              .describe(
                '`true`: the event does not count as of `time`, such as a test frame or a mistake. `false`: it counts again. Its row is not erased.',
              ),
          },
          { error: 'must be an object' },
        )
        .superRefine(
          ({ detections = {}, annotations = {} }, context) => {
            const categories = new Set([...Object.keys(detections), ...Object.keys(annotations)]);
            if (categories.size <= MAX_CAMERA_CATEGORIES) return;
            context.addIssue(fault('too_many', TOO_MANY_CATEGORIES));
          },
          whenRight('detections', 'annotations'),
        ),
    },
    { error: 'must be an object: a CloudEvent' },
  )
  .meta({ id: 'CameraEvent' });

const countsOf = (value: Readonly<Record<string, number>>): Counts => {
  const entries = Object.entries(value);
  return entries.length === 0 ? NO_COUNTS : new Map(entries);
};

/** One element of a request: a message, or its faults. */
type ParsedEvent = { readonly message: EventMessage } | { readonly faults: Listed<Fault> };

const DATA_MEMBERS = Object.keys(cameraEventSchema.shape.data.shape).join(', ');

/** The maximum number of listed faults of one event. The others are only counted. */
const MAX_FAULTS = 20;

/**
 * One element of a request → a message.
 *
 * @param now the current time: an event, and the `time` of a message, may be at most a day ahead of it
 */
export const parseCameraEvent = (element: unknown, now: Instant): ParsedEvent => {
  const event = withoutNullAttributes(element);
  const overfull = overfullFacets(event);
  const parsed = cameraEventSchema.safeParse(overfull.length === 0 ? event : withoutFacets(event, overfull));
  const faults = listed(faultsIn(event, parsed, overfull, now), MAX_FAULTS);
  if (!parsed.success || faults.total > 0) return { faults };
  const { time, data } = parsed.data;
  const facets: Facets = {
    ...(data.detections !== undefined && { detections: { value: countsOf(data.detections), time } }),
    ...(data.reviewed !== undefined && { reviewed: { value: data.reviewed, time } }),
    ...(data.annotations !== undefined && { annotations: { value: countsOf(data.annotations), time } }),
    ...(data.removed !== undefined && { removed: { value: data.removed, time } }),
  };
  return { message: { eventId: data.event_id, cameraId: data.camera_id, ts: data.ts_utc, facets } };
};

function* faultsIn(
  event: unknown,
  parsed: z.ZodSafeParseResult<unknown>,
  overfull: readonly string[],
  now: Instant,
): Generator<Fault> {
  if (!parsed.success) {
    yield* faultsOf(parsed.error, event, () => `is unknown: the members of data are ${DATA_MEMBERS}`);
  }
  if (overfull.length > 0) yield { code: 'too_many', path: ['data'], detail: TOO_MANY_CATEGORIES };
  yield* lateFaults(event, now);
  yield* prototypeFaults(event);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const objectOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

/** A context attribute that is null is absent (CloudEvents, JSON format, 2.2). */
const withoutNullAttributes = (element: unknown): unknown =>
  isObject(element) && ATTRIBUTES.some((attribute) => element[attribute] === null)
    ? Object.fromEntries(Object.entries(element).filter(([name, value]) => name === 'data' || value !== null))
    : element;

/** The facets with more categories than a camera may have. No schema reads them: it would list each wrong category of a very large facet. */
const overfullFacets = (event: unknown): readonly string[] => {
  const data = objectOf(objectOf(event)['data']);
  return ['detections', 'annotations'].filter(
    (member) => !Array.isArray(data[member]) && Object.keys(objectOf(data[member])).length > MAX_CAMERA_CATEGORIES,
  );
};

const withoutFacets = (event: unknown, facets: readonly string[]): unknown => {
  const data = Object.entries(objectOf(objectOf(event)['data'])).filter(([name]) => !facets.includes(name));
  return { ...objectOf(event), data: Object.fromEntries(data) };
};

/** The ids of an element that can be read: its CloudEvent, its camera and its event. */
export const idsIn = (element: unknown): Pick<ProblemError, 'id' | 'event_id' | 'camera_id'> => {
  const { id, data } = objectOf(element);
  const { event_id, camera_id } = objectOf(data);
  const valid = Object.entries({ id, event_id, camera_id }).filter(([, value]) => identifier.safeParse(value).success);
  return Object.fromEntries(valid);
};

/** The newest `time` wins, so a `time` far in the future would block every later change. Reported with the other faults of the event. */
const lateFaults = (element: unknown, now: Instant): readonly Fault[] =>
  [['time'], ['data', 'ts_utc']].flatMap((path) => {
    const text = valueAt(element, path);
    const at = typeof text === 'string' ? parseInstant(text) : undefined;
    const isLate = at !== undefined && at > now + MICROSECONDS.day;
    return isLate ? [{ code: 'too_late' as const, path, detail: 'is more than one day ahead of now' }] : [];
  });

/** zod leaves `__proto__` out of a record without a fault, because setting it would change the prototype. */
const prototypeFaults = (element: unknown): readonly Fault[] => {
  const data = objectOf(objectOf(element)['data']);
  return ['detections', 'annotations'].flatMap((member) =>
    Object.hasOwn(objectOf(data[member]), '__proto__')
      ? [{ code: 'invalid' as const, path: ['data', member, '__proto__'], detail: NO_CATEGORY }]
      : [],
  );
};
