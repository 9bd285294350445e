import * as z from 'zod';

import type { Instant } from '../analytics/model/instant.ts';
import type { Outcome } from '../analytics/record/batch.ts';
import type { Recorder } from '../analytics/record/recorder.ts';
import { deliveryHandshake } from './delivery-handshake.ts';
import { CAMERA_EVENT_TYPE, cameraEventSchema, parseCameraEvent } from './event-message.ts';
import { Problem } from './problem.ts';
import { problemMembers, STORAGE_PROBLEMS } from './route/answers.ts';
import { NO_QUERY } from './route/fields.ts';
import { operation, type Operation, type Route, route } from './route/route.ts';

/** The most bytes a request may have. */
export const MAX_EVENTS_BYTES = 4 * 1_048_576;
/** The most events a request may have. */
export const MAX_EVENTS = 5_000;

/** What recording needs. */
export interface RecordingDependencies {
  readonly recorder: Recorder;
  /** The current time. */
  readonly now: () => Instant;
}

/**
 * `POST /api/events`: records a CloudEvents batch, or a single CloudEvent. Answers only after everything is committed. Wrong events
 * are listed by index; the others are recorded all the same.
 *
 * `OPTIONS /api/events`: the CloudEvents webhook handshake, which Event Grid asks for before it delivers.
 */
export const recordEvents = (dependencies: RecordingDependencies): Route =>
  route({
    name: 'RecordEvents',
    path: 'events',
    authLevel: 'function',
    POST: record(dependencies),
    OPTIONS: deliveryHandshake(),
  });

const count = z.int().min(0);
const countMembers = {
  recorded: count.describe('Events of which something new was stored.'),
  unchanged: count.describe('Events that were known already: repeated or older messages.'),
};

const record = ({ recorder, now }: RecordingDependencies): Operation =>
  operation({
    operationId: 'recordEvents',
    tag: 'events',
    summary: 'Record what happened',
    description: [
      'A CloudEvent or a batch of them. Each tells the whole truth about the facets that it carries, as of its `time`; the newest wins, so',
      'sending anything again, in any order, is always safe. The answer comes after everything is stored.',
      `At most ${MAX_EVENTS} events and ${MAX_EVENTS_BYTES} bytes.`,
    ].join('\n'),
    query: NO_QUERY,
    body: {
      maxBytes: MAX_EVENTS_BYTES,
      content: {
        'application/cloudevents-batch+json': BATCH,
        'application/json': BATCH,
        'application/cloudevents+json': { schema: cameraEventSchema, examples: { single: DETECTED } },
      },
      parse: elementsOf,
    },
    answers: {
      200: {
        description: 'Everything is stored.',
        schema: z.strictObject(countMembers).meta({ id: 'Recorded' }),
        examples: { recorded: { recorded: 2, unchanged: 0 } },
      },
    },
    problems: {
      400: {
        description:
          'Some events are wrong: `errors` names each by its index; the others are stored, and the counts say so. Or the body is none.',
        schema: z
          .strictObject({
            ...problemMembers,
            recorded: countMembers.recorded.optional(),
            unchanged: countMembers.unchanged.optional(),
          })
          .meta({ id: 'RecordProblem' }),
        detail: '1 of 2 events are wrong; the others are recorded.',
        errors: [{ index: 1, detail: 'data.camera_id is empty' }],
        extensions: { recorded: 1, unchanged: 0 },
      },
      413: {
        description: 'Too many events, or too large a body. Nothing was stored.',
        detail: tooManyDetail(6_000),
      },
      ...STORAGE_PROBLEMS,
    },
    handle: async ({ body: elements, log }) => {
      const parsed = elements.map((element, index) => ({ index, event: parseCameraEvent(element, now()) }));
      const good = parsed.flatMap(({ index, event }) =>
        'message' in event ? [{ index, message: event.message }] : [],
      );
      const outcomes = await recorder.record(good.map(({ message }) => message));
      const wrong = [
        ...parsed.flatMap(({ index, event }) => ('detail' in event ? [{ index, detail: event.detail }] : [])),
        ...good.flatMap(({ index }, position) => refusal(index, outcomes[position])),
      ].sort((left, right) => left.index - right.index);
      const counts = {
        recorded: outcomes.filter((outcome) => outcome === 'recorded').length,
        unchanged: outcomes.filter((outcome) => outcome === 'unchanged').length,
      };
      log.info('events recorded', { ...counts, wrong: wrong.length });
      if (wrong.length === 0) return { status: 200, jsonBody: counts };
      throw new Problem(400, {
        detail: `${wrong.length} of ${elements.length} events are wrong${wrong.length < elements.length ? '; the others are recorded' : ''}.`,
        errors: wrong,
        extensions: counts,
      });
    },
  });

const tooManyDetail = (events: number): string => `There are ${events} events; a request takes ${MAX_EVENTS} at most.`;

const elementsOf = (body: unknown): readonly unknown[] => {
  if (typeof body !== 'object' || body === null) {
    throw new Problem(400, { detail: 'The body must be a CloudEvent or an array of CloudEvents.' });
  }
  const elements: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (elements.length > MAX_EVENTS) throw new Problem(413, { detail: tooManyDetail(elements.length) });
  return elements;
};

const refusal = (index: number, outcome: Outcome | undefined) =>
  typeof outcome === 'object' ? [{ index, detail: outcome.refused }] : [];

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

const BATCH = {
  schema: z.array(cameraEventSchema).max(MAX_EVENTS).meta({ id: 'CameraEvents' }),
  examples: { batch: [DETECTED, REVIEWED] },
};
