import * as z from 'zod';

import { CAMERA_EVENT_TYPE } from '../analytics/model/camera-event.ts';
import { ATTRIBUTES, cameraEventSchema } from './event-message.ts';
import { badRequest, Problem, type ProblemError } from './problem.ts';
import type { BodyHeaders } from './route/body.ts';
import { percentDecoded } from './route/fields.ts';

export const MAX_EVENTS_BYTES = 4 * 1_048_576;
export const MAX_EVENTS = 5_000;

/** The content of a request: the elements of a batch, a single CloudEvent, or a CloudEvent whose attributes are headers. */
export interface SentEvents {
  readonly form: 'batch' | 'single' | 'binary';
  /** Unchecked elements. */
  readonly elements: readonly unknown[];
}

/**
 * The events of a request, by the three modes of the CloudEvents binding for HTTP: a batch, a structured event, or binary mode, whose
 * attributes are the headers `ce-…` and whose data is the body. An array is a batch, an object an event.
 *
 * @throws {Problem} 400 if the body is none of them, or a header cannot be read; 413 if there are too many
 */
export const eventsIn = (body: unknown, headers: BodyHeaders): SentEvents => {
  // Before any element is examined: a compressed body of 4 KB may have a million.
  if (Array.isArray(body) && body.length > MAX_EVENTS) {
    throw new Problem('too_many_events', {
      detail: `The request has ${body.length} events. The maximum is ${MAX_EVENTS}.`,
    });
  }
  const mediaType = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (isInGridSchema(body)) throw new Problem('event_grid_schema');
  const isStructured = mediaType.startsWith('application/cloudevents') || elementsIn(body).some(isCloudEvent);
  if (!isStructured && isBinary(headers)) {
    return { form: 'binary', elements: [{ ...attributesIn(headers), data: body }] };
  }
  if (typeof body !== 'object' || body === null) throw new Problem('not_cloudevents');
  if (!Array.isArray(body)) return { form: 'single', elements: [body] };
  return { form: 'batch', elements: body };
};

const SINGLE_TYPE = 'application/cloudevents+json';
const BATCH_TYPE = 'application/cloudevents-batch+json';

/** Whether the attributes are headers, which have the prefix `ce-`. */
const isBinary = (headers: BodyHeaders): boolean =>
  ATTRIBUTES.some((attribute) => headers.get(`ce-${attribute}`) !== null);

/** @throws {Problem} 400 that names each header that cannot be read */
const attributesIn = (headers: BodyHeaders): Readonly<Record<string, string>> => {
  const errors: ProblemError[] = [];
  const attributes: Record<string, string> = {};
  for (const attribute of ATTRIBUTES) {
    const value = headers.get(`ce-${attribute}`);
    if (value === null) continue;
    const text = headerText(value);
    if (text === undefined) errors.push({ code: 'invalid', field: attribute, detail: NOT_ENCODED });
    else attributes[attribute] = text;
  }
  if (errors.length > 0) throw badRequest(errors);
  return attributes;
};

const NOT_ENCODED = 'must be ASCII in which other characters are percent-encoded UTF-8';

const QUOTED = /^"(?:[^"\\]|\\.)*"$/;

/**
 * The text in a header, by 3.1.3.2 of the CloudEvents binding for HTTP: perhaps in double quotes, as its older versions wrote it, and percent-encoded. A stray
 * percent sign stands for itself.
 *
 * @returns undefined if it has other characters than ASCII, or encodes no UTF-8
 */
const headerText = (value: string): string | undefined => {
  if (!/^[\x20-\x7e]*$/.test(value)) return undefined;
  const unquoted = QUOTED.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;
  return percentDecoded(unquoted);
};

const gridSchema = z.object({ eventType: z.string(), eventTime: z.string(), subject: z.string() });

/** Whether all events are in the schema that Event Grid uses by default. A batch with other events is refused by index. */
const isInGridSchema = (body: unknown): boolean => {
  const elements = elementsIn(body);
  return elements.length > 0 && elements.every((one) => gridSchema.safeParse(one).success && !isCloudEvent(one));
};

/** Whether an event has the attribute that every version of CloudEvents demands. */
const isCloudEvent = (element: unknown): boolean => cloudEventSchema.safeParse(element).success;

const elementsIn = (body: unknown): readonly unknown[] => (Array.isArray(body) ? body : [body]);

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
 * both forms and some client generators read the first media type alone.
 */
export const EVENTS_CONTENT = {
  'application/json': {
    schema: z.xor([batchSchema, cameraEventSchema]),
    examples: { batch: [EVENT], single: EVENT },
  },
  [BATCH_TYPE]: { schema: batchSchema, examples: { batch: [EVENT] } },
  [SINGLE_TYPE]: { schema: cameraEventSchema, examples: { single: EVENT } },
};
