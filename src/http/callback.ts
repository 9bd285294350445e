import type { HttpHandler } from '@azure/functions';

import type { AlertType } from '../calls/alert-types.ts';
import type { CallFlow } from '../calls/call-flow.ts';
import type { CallEvents, ParseCallEvents, VerifyToken } from '../calls/callbacks.ts';
import { handleCallEvents } from '../calls/handle-call-events.ts';
import { invocationLog, type Log } from '../log.ts';
import { readJson } from './body.ts';
import { answering, Problem } from './problem.ts';

/** The most a callback's body may have, in bytes; ACS's have about one KiB. */
const MAX_CALLBACK_BYTES = 4 * 1024 * 1024;

/** ACS sends one. More is the work of somebody else, and must not cost much. */
const MOST_EVENTS = 10_000;

/** An array of thousands of wrong elements is not worth thousands of lines. */
const MOST_ERRORS = 50;

/** What answers callbacks. */
export interface CallbackParts {
  readonly flow: CallFlow;
  readonly parseEvents: ParseCallEvents;
  /** Undefined: callbacks are not verified, and whoever knows the address is believed. */
  readonly verifyToken: VerifyToken | undefined;
}

/**
 * The callback of one alert type: ACS reports here what becomes of a call. 401 without a token of ACS, 503 where that cannot be
 * told now, 413 and 400 for a body that is no array of CloudEvents, else 200, after everything that the events ask for was done
 * or has failed for good.
 */
export const callbackHandler = (alertType: AlertType, { flow, parseEvents, verifyToken }: CallbackParts): HttpHandler =>
  answering(async (request, context) => {
    // Before the body is read: a stranger must cost nothing.
    if (verifyToken !== undefined) await demandToken(verifyToken, request.headers.get('authorization'));
    const body = await readJson(request, MAX_CALLBACK_BYTES);
    if (!Array.isArray(body)) throw new Problem(400, { detail: 'The body is not a JSON array of CloudEvents.' });
    if (body.length > MOST_EVENTS) {
      throw new Problem(413, { detail: `There are ${body.length} events; a callback takes ${MOST_EVENTS} at most.` });
    }
    const parsed = await parseEvents(body);
    if (!('events' in parsed)) {
      throw new Problem(400, {
        detail: `${parsed.length} of ${body.length} elements are not CloudEvents.`,
        errors: parsed.slice(0, MOST_ERRORS),
      });
    }
    const log = invocationLog(context);
    reportIgnored(parsed, alertType, log);
    await handleCallEvents(flow, parsed.events, alertType, log);
    return { status: 200 };
  });

const demandToken = async (verifyToken: VerifyToken, authorization: string | null): Promise<void> => {
  switch (await verifyToken(authorization)) {
    case 'valid':
      return;
    case 'invalid':
      throw new Problem(401, { detail: 'Not authorised.', headers: { 'www-authenticate': 'Bearer' } });
    case 'unknown':
      throw new Problem(503, { detail: 'Not available now.', headers: { 'retry-after': '2' } });
  }
};

const reportIgnored = ({ otherKinds, malformedIds }: CallEvents, { name }: AlertType, log: Log): void => {
  if (otherKinds > 0) log.info('callback events of other kinds', { alert_type: name, events: otherKinds });
  if (malformedIds > 0) log.warn('callback events without a call id', { alert_type: name, events: malformedIds });
};
