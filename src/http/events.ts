import type { HttpHandler, HttpRequest, HttpResponseInit } from '@azure/functions';
import * as z from 'zod';

import type { EventMessage } from '../analytics/model/camera-event.ts';
import type { Outcome } from '../analytics/record/commit-draft.ts';
import type { Instant } from '../analytics/model/instant.ts';
import type { Recorder } from '../analytics/record/recorder.ts';
import { invocationLog } from '../log.ts';
import { readJson } from './body.ts';
import { parseCameraEvent } from './event-message.ts';
import { answering, Problem, type ProblemError } from './problem.ts';
import { readQuery } from './query.ts';
import { storageProblem } from './storage-problem.ts';

/** Most bytes of a request, and most events in it. */
export const MAX_EVENTS_BYTES = 4 * 1_048_576;
export const MAX_EVENTS = 5_000;

const elementsOf = (body: unknown): readonly unknown[] => {
  const elements: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (typeof body !== 'object' || body === null) {
    throw new Problem(400, { detail: 'The body must be a CloudEvent or an array of CloudEvents.' });
  }
  if (elements.length > MAX_EVENTS) {
    throw new Problem(413, { detail: `There are ${elements.length} events; a request takes ${MAX_EVENTS} at most.` });
  }
  return elements;
};

/** Sorts the elements of a request into messages and errors; `places[n]` is where message n was. */
const sortElements = (
  elements: readonly unknown[],
  now: Instant,
): { messages: readonly EventMessage[]; places: readonly number[]; errors: readonly ProblemError[] } => {
  const messages: EventMessage[] = [];
  const places: number[] = [];
  const errors: ProblemError[] = [];
  for (const [index, element] of elements.entries()) {
    const parsed = parseCameraEvent(element, now);
    if ('detail' in parsed) errors.push({ index, detail: parsed.detail });
    else {
      messages.push(parsed.message);
      places.push(index);
    }
  }
  return { messages, places, errors };
};

const refusals = (outcomes: readonly Outcome[], places: readonly number[]): readonly ProblemError[] =>
  outcomes.flatMap((outcome, at) =>
    typeof outcome === 'object' ? [{ index: places[at] ?? 0, detail: outcome.refused }] : [],
  );

const indexOf = (error: ProblemError): number => ('index' in error ? error.index : 0);

const record =
  (recorder: Recorder, now: () => Instant): HttpHandler =>
  async (request, context): Promise<HttpResponseInit> => {
    readQuery(request, z.object({}));
    const elements = elementsOf(await readJson(request, MAX_EVENTS_BYTES));
    const { messages, places, errors } = sortElements(elements, now());
    const outcomes = await recorder.record(messages);
    const counts = {
      recorded: outcomes.filter((outcome) => outcome === 'recorded').length,
      unchanged: outcomes.filter((outcome) => outcome === 'unchanged').length,
    };
    const wrong = [...errors, ...refusals(outcomes, places)].sort((left, right) => indexOf(left) - indexOf(right));
    invocationLog(context).info('events recorded', { ...counts, wrong: wrong.length });
    if (wrong.length === 0) return { status: 200, jsonBody: counts };
    throw new Problem(400, {
      detail: `${wrong.length} of ${elements.length} events are wrong${wrong.length < elements.length ? '; the others are recorded' : ''}.`,
      errors: wrong,
      extensions: counts,
    });
  };

/** The CloudEvents webhook handshake. Any origin may deliver, at any rate: the function key says who may. */
const handshake = (request: HttpRequest): HttpResponseInit => {
  const origin = request.headers.get('webhook-request-origin');
  if (origin === null || origin === '') {
    throw new Problem(400, { detail: 'The header WebHook-Request-Origin is missing.' });
  }
  const rate = request.headers.get('webhook-request-rate');
  return {
    status: 200,
    headers: {
      allow: 'POST, OPTIONS',
      'webhook-allowed-origin': origin,
      ...(rate === null ? {} : { 'webhook-allowed-rate': '*' }),
    },
  };
};

/**
 * `POST /api/events`: records a CloudEvents batch, or a single CloudEvent. Answers only after everything is committed. Events
 * that are wrong are listed by index, and the others are recorded all the same.
 *
 * `OPTIONS /api/events`: the CloudEvents webhook handshake, which Event Grid asks for before it delivers.
 *
 * @param now the current time
 */
export const events = (recorder: Recorder, now: () => Instant): HttpHandler => {
  const post = record(recorder, now);
  return answering(
    (request, context) => (request.method === 'OPTIONS' ? handshake(request) : post(request, context)),
    storageProblem,
  );
};
