import * as z from 'zod';

import { CAMERA_EVENT_TYPE } from '../analytics/model/camera-event.ts';
import { cameraEventSchema } from './event-message.ts';
import { Problem } from './problem.ts';
import type { BodyHeaders } from './route/body.ts';

/** The most bytes a request may have. */
export const MAX_EVENTS_BYTES = 4 * 1_048_576;
/** The most events a request may have. */
export const MAX_EVENTS = 5_000;

/** What a request holds: the elements of a batch, a CloudEvent of its own, or one whose attributes are headers. */
export interface SentEvents {
  readonly form: 'batch' | 'single' | 'binary';
  /** None of which has been looked at yet. */
  readonly elements: readonly unknown[];
}

/**
 * The events of a request, by the three modes of the CloudEvents binding for HTTP: a batch, a structured event, or one in binary mode, whose
 * attributes are the headers `ce-…` and whose data is the body. A body of another media type than those of CloudEvents may be either of
 * the first two.
 *
 * @throws {Problem} 400 if the body is none of them; 413 if there are too many
 */
export const eventsIn = (body: unknown, headers: BodyHeaders): SentEvents => {
  const mediaType = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (headers.get('aeg-event-type') !== null && isInGridSchema(body)) throw new Problem('event_grid_schema');
  if (!mediaType.startsWith('application/cloudevents') && isBinary(headers)) {
    return { form: 'binary', elements: [{ ...attributesIn(headers), data: body }] };
  }
  if (isInGridSchema(body)) throw new Problem('event_grid_schema');
  if (mediaType === SINGLE_TYPE && Array.isArray(body)) {
    throw new Problem('not_cloudevents', {
      detail: `The body of ${SINGLE_TYPE} must be one CloudEvent; a list goes as ${BATCH_TYPE}.`,
    });
  }
  if (mediaType === BATCH_TYPE && !Array.isArray(body)) {
    throw new Problem('not_cloudevents', {
      detail: `The body of ${BATCH_TYPE} must be an array; one CloudEvent goes as ${SINGLE_TYPE}.`,
    });
  }
  if (typeof body !== 'object' || body === null) throw new Problem('not_cloudevents');
  if (!Array.isArray(body)) return { form: 'single', elements: [body] };
  if (body.length > MAX_EVENTS) {
    throw new Problem('too_many_events', {
      detail: `There are ${body.length} events; a request takes ${MAX_EVENTS} at most.`,
    });
  }
  return { form: 'batch', elements: body };
};

const SINGLE_TYPE = 'application/cloudevents+json';
const BATCH_TYPE = 'application/cloudevents-batch+json';

/** The attributes that are looked at; their headers have the prefix `ce-`. */
const ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time'] as const;

const isBinary = (headers: BodyHeaders): boolean =>
  ATTRIBUTES.some((attribute) => headers.get(`ce-${attribute}`) !== null);

const attributesIn = (headers: BodyHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ATTRIBUTES.flatMap((attribute) => {
      const value = headers.get(`ce-${attribute}`);
      return value === null ? [] : [[attribute, headerText(value)]];
    }),
  );

/** The text in a header, whose other characters than those of ASCII are percent-encoded UTF-8; a stray percent sign stands for itself. */
const headerText = (value: string): string => {
  try {
    return decodeURIComponent(value.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return value;
  }
};

const gridSchema = z.object({ eventType: z.string(), eventTime: z.string(), subject: z.string() });

/** Whether events are in the schema that Event Grid uses unless it is told otherwise. */
const isInGridSchema = (body: unknown): boolean => {
  const events: readonly unknown[] = Array.isArray(body) ? body : [body];
  const [first] = events;
  return gridSchema.safeParse(first).success && !cloudEventSchema.safeParse(first).success;
};

const cloudEventSchema = z.object({ specversion: z.string() });

const EVENT = { event_id: 'f-1029', camera_id: 'ridge-04', ts_utc: '2026-11-21T08:00:00.123456Z' };

const DETECTED = {
  specversion: '1.0',
  id: 'b1f5c1de-6f0c-4a53-9a1a-0b0cf8f6d9c1',
  source: '/ai/worker-3',
  type: CAMERA_EVENT_TYPE,
  time: '2026-11-21T08:00:02.5Z',
  data: { ...EVENT, detections: { smoke: 1 } },
};

const REVIEWED = {
  ...DETECTED,
  id: '0c9d0c55-8f42-4f0a-8b0a-3a8d3b6f5a77',
  source: '/review/desk-1',
  time: '2026-11-21T08:05:40Z',
  data: { ...EVENT, reviewed: true, annotations: { fire: 1 } },
};

const batchSchema = z.array(cameraEventSchema).max(MAX_EVENTS).meta({ id: 'CameraEvents' });

/**
 * What may be sent, by media type, for the description; the binary mode stands there in words. `application/json` comes first, because it has
 * both forms and some client generators look at the first media type alone.
 */
export const EVENTS_CONTENT = {
  'application/json': {
    schema: z.xor([batchSchema, cameraEventSchema]),
    examples: { batch: [DETECTED, REVIEWED], single: DETECTED },
  },
  [BATCH_TYPE]: { schema: batchSchema, examples: { batch: [DETECTED, REVIEWED] } },
  [SINGLE_TYPE]: { schema: cameraEventSchema, examples: { single: DETECTED } },
};
