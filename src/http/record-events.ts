import * as z from 'zod';

import type { EventMessage } from '../analytics/model/camera-event.ts';
import type { Instant } from '../analytics/model/instant.ts';
import type { Outcome } from '../analytics/record/batch.ts';
import type { Recorder } from '../analytics/record/recorder.ts';
import { BATCH, eventsIn, MAX_EVENTS, MAX_EVENTS_BYTES, SINGLE, tooManyDetail } from './event-batch.ts';
import { type ParsedEvent, parseCameraEvent } from './event-message.ts';
import { Problem } from './problem.ts';
import { problemMembers, STORAGE_PROBLEMS } from './route/answers.ts';
import { NO_QUERY } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

/** What recording needs. */
export interface RecordingDependencies {
  readonly recorder: Recorder;
  /** The current time. */
  readonly now: () => Instant;
}

const count = z.int().min(0);
const countMembers = {
  recorded: count.describe('Events of which something new was stored.'),
  unchanged: count.describe('Events that were known already: repeated or older messages.'),
};

/**
 * `POST /api/events`: records a CloudEvents batch, or a single CloudEvent. Answers only after everything is committed. Wrong events
 * are listed by index; the others are recorded all the same.
 */
export const recordEvents = ({ recorder, now }: RecordingDependencies): Route =>
  route({
    name: 'RecordEvents',
    path: 'events',
    authLevel: 'function',
    POST: operation({
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
          'application/cloudevents+json': SINGLE,
        },
        parse: eventsIn,
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
            'Some events are wrong: `errors` names all that is wrong with each, by its index; the others are stored, and the counts say so. Or the body is neither an event nor a batch.',
          schema: z
            .strictObject({
              ...problemMembers,
              recorded: countMembers.recorded.optional(),
              unchanged: countMembers.unchanged.optional(),
            })
            .meta({ id: 'RecordProblem' }),
          detail: '1 of 2 events are wrong; the others are recorded.',
          errors: [{ index: 1, event_id: 'f-1029', field: 'data.camera_id', detail: 'data.camera_id is empty' }],
          extensions: { recorded: 1, unchanged: 0 },
        },
        413: {
          description: 'Too many events, or too large a body. Nothing was stored.',
          detail: tooManyDetail(6_000),
        },
        ...STORAGE_PROBLEMS,
      },
      handle: async ({ body: elements, log }) => {
        const at = now();
        const parsed = elements.map((element, index) => ({ index, event: parseCameraEvent(element, at) }));
        const good = parsed.flatMap(({ index, event }) =>
          'message' in event ? [{ index, message: event.message }] : [],
        );
        const outcomes = await recorder.record(good.map(({ message }) => message));
        const errors = [
          ...parsed.flatMap(({ index, event }) => ('faults' in event ? faultErrors(index, event) : [])),
          ...good.flatMap(({ index, message }, position) => refusal(index, message, outcomes[position])),
        ].sort((left, right) => left.index - right.index);
        const wrong = new Set(errors.map(({ index }) => index)).size;
        const counts = {
          recorded: outcomes.filter((outcome) => outcome === 'recorded').length,
          unchanged: outcomes.filter((outcome) => outcome === 'unchanged').length,
        };
        log.info('events recorded', { ...counts, wrong });
        if (wrong === 0) return { status: 200, jsonBody: counts };
        throw new Problem(400, {
          detail: `${wrong} of ${elements.length} events are wrong${wrong < elements.length ? '; the others are recorded' : ''}.`,
          errors,
          extensions: counts,
        });
      },
    }),
  });

/** The details name their fields as well, so that each is a sentence of its own in a log. */
const faultErrors = (index: number, { faults, eventId }: Extract<ParsedEvent, { faults: unknown }>) =>
  faults.map(({ field, detail }) => ({
    index,
    ...(eventId !== undefined && { event_id: eventId }),
    ...(field !== '' && { field }),
    detail: `${field} ${detail}`.trim(),
  }));

const refusal = (index: number, { eventId }: EventMessage, outcome: Outcome | undefined) =>
  typeof outcome === 'object' ? [{ index, event_id: eventId, detail: outcome.refused }] : [];
