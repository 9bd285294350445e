import * as z from 'zod';

import { CAMERA_EVENT_TYPE } from '../analytics/model/camera-event.ts';
import { cameraEventSchema } from './event-message.ts';
import { Problem } from './problem.ts';
import type { BodyHeaders } from './route/body.ts';

export const MAX_EVENTS_BYTES = 4 * 1_048_576;
export const MAX_EVENTS = 5_000;

/** What a request holds: the elements of a batch, a single CloudEvent, or a CloudEvent whose attributes are headers. */
export interface SentEvents {
  readonly form: 'batch' | 'single' | 'binary';
  /** Unchecked elements. */
  readonly elements: readonly unknown[];
}

/**
 * The events of a request, by the three modes of the CloudEvents binding for HTTP: a batch, a structured event, or binary mode, whose
 * attributes are the headers `ce-…` and whose data is the body. An array is a batch, an object an event.
 *
 * @throws {Problem} 400 if the body is none of them; 413 if there are too many
 */
export const eventsIn = (body: unknown, headers: BodyHeaders): SentEvents => {
  const mediaType = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (isInGridSchema(body)) throw new Problem('event_grid_schema');
  if (!mediaType.startsWith('application/cloudevents') && isBinary(headers)) {
    return { form: 'binary', elements: [{ ...attributesIn(headers), data: body }] };
  }
  if (typeof body !== 'object' || body === null) throw new Problem('not_cloudevents');
  if (!Array.isArray(body)) return { form: 'single', elements: [body] };
  if (body.length > MAX_EVENTS) {
    throw new Problem('too_many_events', {
      detail: `The request has ${body.length} events. The maximum is ${MAX_EVENTS}.`,
    });
  }
  return { form: 'batch', elements: body };
};

const SINGLE_TYPE = 'application/cloudevents+json';
const BATCH_TYPE = 'application/cloudevents-batch+json';

/** The attributes that are read; their headers have the prefix `ce-`. */
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

/** The text in a header, whose characters beyond ASCII are percent-encoded UTF-8; a stray percent sign stands for itself. */
const headerText = (value: string): string => {
  try {
    return decodeURIComponent(value.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return value;
  }
};

const gridSchema = z.object({ eventType: z.string(), eventTime: z.string(), subject: z.string() });

/** Whether events are in the schema that Event Grid uses by default. */
const isInGridSchema = (body: unknown): boolean => {
  const events: readonly unknown[] = Array.isArray(body) ? body : [body];
  const [first] = events;
  return gridSchema.safeParse(first).success && !cloudEventSchema.safeParse(first).success;
};

const cloudEventSchema = z.object({ specversion: z.string() });

const EVENT = {
  specversion: '1.0',
  id: 'b1f5c1de-6f0c-4a53-9a1a-0b0cf8f6d9c1',
  source: '/ai/worker-3',
  type: CAMERA_EVENT_TYPE,
  time: '2026-11-21T08:00:02.5Z',
  data: {
    event_id: 'f-1029',
    camera_id: 'ridge-04',
    ts_utc: '2026-11-21T08:00:00.123456Z',
    detections: { smoke: 1 },
    reviewed: true,
    annotations: { fire: 1 },
  },
};

const batchSchema = z.array(cameraEventSchema).max(MAX_EVENTS).meta({ id: 'CameraEvents' });

/**
 * The accepted bodies, by media type, for the description, which explains the binary mode in words. `application/json` comes first, because it has
 * both forms and some client generators look at the first media type alone.
 */
export const EVENTS_CONTENT = {
  'application/json': {
    schema: z.xor([batchSchema, cameraEventSchema]),
    examples: { batch: [EVENT], single: EVENT },
  },
  [BATCH_TYPE]: { schema: batchSchema, examples: { batch: [EVENT] } },
  [SINGLE_TYPE]: { schema: cameraEventSchema, examples: { single: EVENT } },
};
