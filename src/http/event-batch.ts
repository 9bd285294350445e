import * as z from 'zod';

import { CAMERA_EVENT_TYPE, cameraEventSchema } from './event-message.ts';
import { Problem } from './problem.ts';

/** The most bytes a request may have. */
export const MAX_EVENTS_BYTES = 4 * 1_048_576;
/** The most events a request may have. */
export const MAX_EVENTS = 5_000;

/** The sentence about a batch with too many events. */
export const tooManyDetail = (events: number): string =>
  `There are ${events} events; a request takes ${MAX_EVENTS} at most.`;

/**
 * The events of a request's body, none of which has been looked at yet: a batch, or a single one.
 *
 * @throws {Problem} 400 if the body is neither; 413 if there are too many
 */
export const eventsIn = (body: unknown): readonly unknown[] => {
  if (typeof body !== 'object' || body === null) {
    throw new Problem(400, { detail: 'The body must be a CloudEvent or an array of CloudEvents.' });
  }
  const events: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (events.length > MAX_EVENTS) throw new Problem(413, { detail: tooManyDetail(events.length) });
  return events;
};

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

/** A single event, for the description. */
export const SINGLE = { schema: cameraEventSchema, examples: { single: DETECTED } };

/** A batch of events, for the description. */
export const BATCH = {
  schema: z.array(cameraEventSchema).max(MAX_EVENTS).meta({ id: 'CameraEvents' }),
  examples: { batch: [DETECTED, REVIEWED] },
};
