import * as z from 'zod';

import type { AlertType } from '../calls/model/alert-types.ts';
import type { Phone as CallsPhone } from '../calls/phone.ts';
import type {
  CallbackHandler,
  ParsedCallback,
  EventCallbacks,
  InstructionCallbacks,
} from '../calls/providers/callbacks.ts';
import type { Log } from '../log.ts';
import { type Phone, phoneOr503 } from './phone-off.ts';
import { MAX_ERRORS, Problem } from './problem.ts';
import type { Refusal, RefusalLog } from './refusal-log.ts';
import { operation, type Route, route } from './route/route.ts';

interface CommonParts extends Pick<CallsPhone, 'handle' | 'messageOf'> {
  readonly refusals: RefusalLog;
}
type EventParts = CommonParts & EventCallbacks;
type InstructionParts = CommonParts & { readonly instructions: InstructionCallbacks };

/** The handlers of callbacks: the telephone service posts events in JSON, or forms that ask what the call does next. */
export type CallbackParts = EventParts | InstructionParts;

/**
 * The callback of one alert type: the telephone service reports the events of its calls here. 401 without its token or signature, 503 if that
 * cannot be checked now, 413 and 400 for a malformed body. Otherwise 200, after the work for the events is done or has finally failed.
 */
export const callback = (alertType: AlertType, phone: Phone<CallbackParts>): Route =>
  route({
    name: alertType.callbackPath,
    path: alertType.callbackPath,
    authLevel: 'anonymous',
    POST:
      phone !== 'off' && 'instructions' in phone
        ? instructionOperation(alertType, phone)
        : eventOperation(alertType, phone),
  });

const about = ({ name, callbackPath, phrase }: AlertType) => ({
  operationId: `on${callbackPath}`,
  tag: 'callbacks' as const,
  summary: `Events of a call about ${name}`,
  description: `The telephone service reports the events of a call here. When the callee answers, this service speaks: “${phrase}”`,
  query: 'any' as const,
});

/** In bytes. A body of ACS has about one KiB. Any sender can make this service hold this much for each request. */
const MAX_EVENTS_BYTES = 1024 * 1024;

/** ACS sends one event a request. A request with many is not from ACS and must not cost much. */
const MAX_EVENTS = 10_000;

const eventsSchema = z
  .array(z.unknown())
  .meta({ id: 'CallbackEvents', description: 'CloudEvents 1.0, as Communication Services posts them.' });

const NOT_CLOUD_EVENT = 'is not a CloudEvent 1.0: id, source, type and specversion "1.0" are required';

const CONNECTED = {
  id: '5a7b8f5e-0a0e-4f0e-9a51-57c1f4a6e7b1',
  source: 'calling/callConnections/401f2d00-5d56-4d8a-b1e3-0242ac120002',
  type: 'Microsoft.Communication.CallConnected',
  specversion: '1.0',
  data: { callConnectionId: '401f2d00-5d56-4d8a-b1e3-0242ac120002' },
};

const eventOperation = (alertType: AlertType, phone: Phone<EventParts>) =>
  operation({
    ...about(alertType),
    demand: async (headers, log) => demandToken(phoneOr503(phone), headers.get('authorization'), log),
    hasCallbackToken: true,
    body: {
      maxBytes: MAX_EVENTS_BYTES,
      content: { 'application/json': { schema: eventsSchema, examples: { connected: [CONNECTED] } } },
      parse: parseArray,
    },
    answers: { 200: { description: 'Accepted, even if the event is unknown, late or a repeat.' } },
    problems: ['not_cloudevents', 'too_many_events', 'not_authorised', 'token_not_checked', 'phone_off'],
    handle: async ({ body, log }) => {
      const { handle, parseEvents } = phoneOr503(phone);
      const parsed = parseEvents(body);
      const { malformed } = parsed;
      logIgnored(parsed, alertType, log);
      await handle(parsed.events, alertType, log);
      if (malformed.length === 0) return { status: 200 };
      throw new Problem('not_cloudevents', {
        detail: `${malformed.length} of ${body.length} elements are not CloudEvents. The others are handled.`,
        errors: malformed
          .slice(0, MAX_ERRORS)
          .map((index) => ({ code: 'invalid', index, pointer: `/${index}`, detail: NOT_CLOUD_EVENT })),
        total: malformed.length,
      });
    },
  });

const BEARER = { 'www-authenticate': 'Bearer' };

const demandToken = async (parts: EventParts, authorization: string | null, log: Log): Promise<void> => {
  switch (await parts.verifyToken?.(authorization)) {
    case undefined:
    case 'valid':
      return;
    case 'invalid':
      return refuse(parts, authorization === null ? 'no token' : 'token not valid', log, BEARER);
    case 'unknown':
      parts.refusals.note('keys unreachable', log);
      throw new Problem('token_not_checked', { headers: { 'retry-after': '2' } });
  }
};

const refuse = ({ refusals }: CommonParts, reason: Refusal, log: Log, headers = {}): never => {
  refusals.note(reason, log);
  throw new Problem('not_authorised', { headers });
};

const parseArray = (body: unknown): readonly unknown[] => {
  if (!Array.isArray(body))
    throw new Problem('not_cloudevents', { detail: 'The body is not a JSON array of CloudEvents.' });
  if (body.length > MAX_EVENTS) {
    throw new Problem('too_many_events', {
      detail: `The callback has ${body.length} events. The maximum is ${MAX_EVENTS}.`,
    });
  }
  return body;
};

const logIgnored = ({ otherKinds, malformedIds }: ParsedCallback, { name }: AlertType, log: Log): void => {
  if (otherKinds > 0) log.info('callback events of other kinds', { alert_type: name, events: otherKinds });
  if (malformedIds > 0) log.warn('callback events without a call id', { alert_type: name, events: malformedIds });
};

/** In bytes, for the same reason. A form has about one KiB. */
const MAX_FORM_BYTES = 64 * 1024;

const formSchema = z
  .record(z.string(), z.string())
  .meta({ id: 'CallbackForm', description: 'The parameters that the telephone service posts.' });

const FORM = { CallSid: 'CA0123456789abcdef0123456789abcdef', CallStatus: 'in-progress', To: '+12065550100' };

const instructionOperation = (alertType: AlertType, phone: InstructionParts) => {
  const { handle, messageOf, instructions } = phone;
  const { signatureHeader } = instructions;
  return operation({
    ...about(alertType),
    demand: (headers, log) => {
      if ((headers.get(signatureHeader) ?? '') === '') refuse(phone, 'no token', log);
    },
    headers: z.object({
      [signatureHeader]: z.string().optional().meta({ description: 'The signature of the telephone service.' }),
    }),
    body: {
      maxBytes: MAX_FORM_BYTES,
      format: 'form',
      content: { 'application/x-www-form-urlencoded': { schema: formSchema, examples: { answered: FORM } } },
      parse: (form) => formSchema.parse(form),
    },
    answers: {
      200: {
        description: 'What the call does next; nothing if the callback only reports something.',
        mediaType: 'text/xml',
        schema: z.string(),
      },
    },
    problems: ['not_authorised'],
    handle: async ({ headers, body: form, search, log }) => {
      const request = {
        path: `api/${alertType.callbackPath}`,
        search,
        form,
        signature: headers[signatureHeader] ?? '',
      };
      const handler: CallbackHandler = {
        handle: async (events) => handle(events, alertType, log),
        messageOf: async (attempt) => messageOf(attempt, alertType),
      };
      const body = await instructions.answer(request, handler, log);
      return body === undefined ? refuse(phone, 'token not valid', log) : { status: 200, body };
    },
  });
};
