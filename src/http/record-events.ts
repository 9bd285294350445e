import * as z from 'zod';

import type { EventMessage } from '../analytics/model/camera-event.ts';
import type { Instant } from '../analytics/model/instant.ts';
import type { Outcome } from '../analytics/record/commit-plan.ts';
import type { Recorder } from '../analytics/record/recorder.ts';
import { EVENTS_CONTENT, eventsIn, MAX_EVENTS, MAX_EVENTS_BYTES, type SentEvents } from './event-batch.ts';
import { idsIn, parseCameraEvent } from './event-message.ts';
import { MAX_ERRORS, Problem, type ProblemError } from './problem.ts';
import { count, STORAGE_PROBLEMS } from './route/answers.ts';
import { type Fault, fieldOf, type Listed, pointerOf } from './route/faults.ts';
import { NO_QUERY } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

export interface RecordingDependencies {
  readonly recorder: Pick<Recorder, 'record'>;
  readonly now: () => Instant;
}

const countMembers = {
  recorded: count.describe('Events that stored something new.'),
  unchanged: count.describe('Known events: repeated messages, and `superseded` messages.'),
  superseded: count.describe(
    'The unchanged events with a value that is older than the stored value, or differs from it at the same `time`.',
  ),
};

/**
 * `POST /api/events`: records a CloudEvents batch, or a single CloudEvent. Answers only after everything is committed. Wrong events
 * are listed by index; the others are recorded.
 */
export const recordEvents = ({ recorder, now }: RecordingDependencies): Route =>
  route({
    name: 'RecordEvents',
    path: 'events',
    authLevel: 'function',
    optionsAreElsewhere: true,
    POST: operation({
      operationId: 'recordEvents',
      tag: 'events',
      summary: 'Record events',
      description: [
        'A CloudEvent or a batch of them. Each has full values of its facets, as of its `time`. The newest value wins, so resending is safe,',
        'in any order. The answer comes after everything is stored.',
        'Binary mode of CloudEvents is accepted: the attributes are the headers `ce-specversion`, `ce-id`, `ce-source`, `ce-type` and',
        '`ce-time`, and the body is the `data`.',
        `At most ${MAX_EVENTS} events and ${MAX_EVENTS_BYTES} bytes.`,
      ].join('\n'),
      query: NO_QUERY,
      body: {
        maxBytes: MAX_EVENTS_BYTES,
        content: EVENTS_CONTENT,
        parse: eventsIn,
      },
      answers: {
        200: {
          description: 'All events are stored.',
          schema: z
            .object(countMembers)
            .meta({ id: 'Recorded', examples: [{ recorded: 2, unchanged: 0, superseded: 0 }] }),
        },
      },
      problems: ['events_refused', 'not_cloudevents', 'event_grid_schema', 'too_many_events', ...STORAGE_PROBLEMS],
      handle: async ({ body: { form, elements }, log }) => {
        const at = now();
        const good: { readonly index: number; readonly message: EventMessage }[] = [];
        const refused = new RefusedEvents(form, elements);
        for (const [index, element] of elements.entries()) {
          const event = parseCameraEvent(element, at);
          if ('message' in event) good.push({ index, ...event });
          else refused.add(index, event.faults);
        }
        const outcomes = await recorder.record(good.map(({ message }) => message));
        for (const [position, { index }] of good.entries()) {
          const outcome = outcomes[position];
          if (typeof outcome !== 'object') continue;
          const first = [{ code: outcome.code, path: [], detail: outcome.refused }];
          refused.add(index, { first, total: 1 });
        }
        const { events: wrong, total, errors } = refused;
        const countOf = (what: Outcome) => outcomes.filter((outcome) => outcome === what).length;
        const superseded = countOf('superseded');
        const counts = { recorded: countOf('recorded'), unchanged: countOf('unchanged') + superseded, superseded };
        log.info('events recorded', { ...counts, wrong });
        if (wrong === 0) return { status: 200, jsonBody: counts };
        throw new Problem('events_refused', {
          detail: `${wrong} of ${elements.length} events are invalid${wrong < elements.length ? '; the others are stored' : ''}.`,
          errors,
          total,
          extensions: counts,
        });
      },
    }),
  });

type Form = SentEvents['form'];

/** The refused events of a request. It keeps the faults that the answer lists, and counts the others. */
class RefusedEvents {
  readonly #form: Form;
  readonly #elements: readonly unknown[];
  #errors: (ProblemError & { readonly index: number })[] = [];
  events = 0;
  total = 0;

  /** @param elements of the request */
  constructor(form: Form, elements: readonly unknown[]) {
    this.#form = form;
    this.#elements = elements;
  }

  /** Call it once per event. */
  add(index: number, { first, total }: Listed<Fault>): void {
    this.events += 1;
    this.total += total;
    if ((this.#errors[MAX_ERRORS - 1]?.index ?? Infinity) < index) return;
    const ids = idsIn(this.#elements[index]);
    for (const { code, path, detail } of first) {
      // The detail includes its field: in a log it stands alone.
      const field = fieldOf(path) || undefined;
      const said = field === undefined ? detail : `${field} ${detail}`;
      this.#errors.push({ code, index, ...ids, field, pointer: pointerIn(this.#form, index, path), detail: said });
    }
    this.#errors = this.#errors.sort((left, right) => left.index - right.index).slice(0, MAX_ERRORS);
  }

  /** In the order of their indexes. */
  get errors(): readonly ProblemError[] {
    return this.#errors;
  }
}

/** The JSON Pointer to the fault in the body; undefined for an attribute that was a header. */
const pointerIn = (form: Form, index: number, path: readonly PropertyKey[]): string | undefined => {
  if (form === 'batch') return pointerOf([index, ...path]);
  if (form === 'single') return pointerOf(path);
  return path[0] === 'data' || path.length === 0 ? pointerOf(path.slice(1)) : undefined;
};
