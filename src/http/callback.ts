import * as z from 'zod';

import type { AlertType } from '../calls/model/alert-types.ts';
import type { CallEvents, EventCallbacks } from '../calls/providers/callbacks.ts';
import type { Phone as CallsPhone } from '../calls/phone.ts';
import type { Log } from '../log.ts';
import { type Phone, phoneOr503 } from './phone-off.ts';
import { Problem } from './problem.ts';
import { RETRY_AFTER } from './route/answers.ts';
import { operation, type Route, route } from './route/route.ts';

/** The most a callback's body may have, in bytes. ACS's have about one KiB, and anybody may make this service hold so much for each request. */
const MAX_CALLBACK_BYTES = 1024 * 1024;

/** ACS sends one event a request. A request with many is not from ACS and must not cost much. */
const MAX_EVENTS = 10_000;

/** The most wrong elements that an answer names. */
const MAX_ERRORS = 50;

/** What answers callbacks. */
export interface CallbackParts extends Pick<CallsPhone, 'handle'>, EventCallbacks {
  readonly refusals: RefusalLog;
}

const text = z.string().min(1);

/** What ACS sends, for the description. The events themselves are checked one by one by `parseCallEvents`. */
const callbackSchema = z
  .array(
    z.looseObject({
      id: text,
      source: text,
      type: text,
      specversion: z.literal('1.0'),
      time: z.string().optional(),
      data: z
        .looseObject({
          callConnectionId: z.string().optional(),
          operationContext: z.string().optional(),
          resultInformation: z.looseObject({ code: z.int().optional(), subCode: z.int().optional() }).optional(),
        })
        .optional(),
    }),
  )
  .meta({
    id: 'Callback',
    description: 'CloudEvents 1.0 of Communication Services. Of `data` only what is named here is looked at.',
  });

const CONNECTED = {
  id: '5a7b8f5e-0a0e-4f0e-9a51-57c1f4a6e7b1',
  source: 'calling/callConnections/401f2d00-5d56-4d8a-b1e3-0242ac120002',
  type: 'Microsoft.Communication.CallConnected',
  specversion: '1.0',
  time: '2026-11-21T08:00:02.1590127+00:00',
  data: { callConnectionId: '401f2d00-5d56-4d8a-b1e3-0242ac120002', resultInformation: { code: 200, subCode: 0 } },
};

/**
 * The callback of one alert type: ACS reports here what becomes of a call. 401 without a token of ACS, 503 where that cannot be
 * told now, 413 and 400 for a body that is no array of CloudEvents, else 200, after everything that the events ask for was done
 * or has failed for good.
 */
export const callback = (alertType: AlertType, phone: Phone<CallbackParts>): Route =>
  route({
    name: alertType.callbackPath,
    path: alertType.callbackPath,
    authLevel: 'anonymous',
    POST: operation({
      operationId: `on${alertType.callbackPath}`,
      tag: 'callbacks',
      summary: `What becomes of a call about ${alertType.name}`,
      description: `Communication Services reports here. When the call connects, the message is spoken: “${alertType.phrase}”`,
      demand: async (headers, log) => demandToken(phoneOr503(phone), headers.get('authorization'), log),
      hasCallbackToken: true,
      query: 'any',
      body: {
        maxBytes: MAX_CALLBACK_BYTES,
        content: { 'application/json': { schema: callbackSchema, examples: { connected: [CONNECTED] } } },
        parse: parseArray,
      },
      answers: { 200: { description: 'Taken note of; also where the event is unknown, late or a repeat.' } },
      problems: {
        400: {
          codes: ['not_cloudevents', 'empty_body', 'not_gzip', 'not_utf8', 'not_json'],
          description: 'Not an array of CloudEvents.',
          detail: '1 of 1 elements are not CloudEvents.',
          errors: [
            {
              code: 'invalid',
              index: 0,
              pointer: '/0',
              detail: 'is not a CloudEvent 1.0: id, source, type and specversion "1.0" are required',
            },
          ],
        },
        401: {
          codes: ['not_authorised'],
          description: 'The token of Communication Services is missing or wrong. Only where `ACS_RESOURCE_ID` is set.',
          headers: z.object({ 'WWW-Authenticate': z.literal('Bearer').meta({ header: { id: 'WWW-Authenticate' } }) }),
        },
        503: {
          codes: ['token_not_checked', 'phone_off'],
          description: 'Whether the token is good cannot be told now, or the phone is switched off (`PHONE=off`).',
          headers: RETRY_AFTER.partial(),
        },
      },
      handle: async ({ body, log }) => {
        const { handle, parseEvents } = phoneOr503(phone);
        const parsed = await parseEvents(body);
        if (!('events' in parsed)) {
          throw new Problem('not_cloudevents', {
            detail: `${parsed.length} of ${body.length} elements are not CloudEvents.`,
            errors: parsed
              .slice(0, MAX_ERRORS)
              .map(({ index, detail }) => ({ code: 'invalid', index, pointer: `/${index}`, detail })),
          });
        }
        logIgnored(parsed, alertType, log);
        await handle(parsed.events, alertType, log);
        return { status: 200 };
      },
    }),
  });

const demandToken = async (
  { verifyToken, refusals }: CallbackParts,
  authorization: string | null,
  log: Log,
): Promise<void> => {
  switch (await verifyToken?.(authorization)) {
    case undefined:
    case 'valid':
      return;
    case 'invalid':
      refusals.note(authorization === null ? 'no token' : 'token not valid', log);
      throw new Problem('not_authorised', { headers: { 'www-authenticate': 'Bearer' } });
    case 'unknown':
      refusals.note('keys unreachable', log);
      throw new Problem('token_not_checked', { headers: { 'retry-after': '2' } });
  }
};

const parseArray = (body: unknown): readonly unknown[] => {
  if (!Array.isArray(body))
    throw new Problem('not_cloudevents', { detail: 'The body is not a JSON array of CloudEvents.' });
  if (body.length > MAX_EVENTS) {
    throw new Problem('too_many_events', {
      detail: `There are ${body.length} events; a callback takes ${MAX_EVENTS} at most.`,
    });
  }
  return body;
};

const logIgnored = ({ otherKinds, malformedIds }: CallEvents, { name }: AlertType, log: Log): void => {
  if (otherKinds > 0) log.info('callback events of other kinds', { alert_type: name, events: otherKinds });
  if (malformedIds > 0) log.warn('callback events without a call id', { alert_type: name, events: malformedIds });
};

/** Why a callback was refused. */
export type Refusal = 'no token' | 'token not valid' | 'keys unreachable';

// Anybody may post to the callback paths: one line for many refusals.
const ONE_LINE_A_MS = 10_000;

/**
 * A log line for refused callbacks: with a wrong `ACS_RESOURCE_ID` every callback is refused, and nothing else would tell. Of each
 * reason one line in ten seconds at most, with how many there were.
 */
export class RefusalLog {
  readonly #unsaid = new Map<Refusal, { count: number; saidAt: number }>();

  /** Takes down a refusal. */
  note(reason: Refusal, log: Log): void {
    const known = this.#unsaid.get(reason) ?? { count: 0, saidAt: -Infinity };
    const now = performance.now();
    const count = known.count + 1;
    const isTime = now - known.saidAt >= ONE_LINE_A_MS;
    this.#unsaid.set(reason, isTime ? { count: 0, saidAt: now } : { count, saidAt: known.saidAt });
    if (isTime) log.warn('callback refused', { reason, refused: count });
  }
}
