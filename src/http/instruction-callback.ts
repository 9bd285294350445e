import * as z from 'zod';

import type { AlertType } from '../calls/model/alert-types.ts';
import type { Phone as CallsPhone } from '../calls/phone.ts';
import type { InstructionCallbacks } from '../calls/providers/callbacks.ts';
import type { Log } from '../log.ts';
import type { Refusal, RefusalLog } from './callback.ts';
import { type Phone, phoneOr503 } from './phone-off.ts';
import { Problem } from './problem.ts';
import { RETRY_AFTER } from './route/answers.ts';
import { operation, type Route, route } from './route/route.ts';

/** A callback's form has about one KiB, and anybody may make this service hold so much for each request. */
const MAX_FORM_BYTES = 64 * 1024;

/** What answers callbacks of a line that asks what its calls are to do. */
export interface InstructionParts extends Pick<CallsPhone, 'handle'> {
  readonly instructions: InstructionCallbacks;
  readonly refusals: RefusalLog;
}

const formSchema = z
  .record(z.string(), z.string())
  .meta({ id: 'CallbackForm', description: 'The parameters that the telephone service posts.' });

type Form = Readonly<Record<string, string>>;

const FORM = { CallSid: 'CA0123456789abcdef0123456789abcdef', CallStatus: 'in-progress', To: '+12065550100' };
const XML = 'text/xml';

/**
 * The callback of one alert type, for a line that posts forms: it reports what becomes of a call, and asks what the call is to do. 401 without its
 * signature, 413 and 400 for a body that is no such form, else 200 with the instruction, also where an event is unknown or a repeat.
 */
export const instructionCallback = (
  alertType: AlertType,
  phone: Phone<InstructionParts>,
  signatureHeader: string,
): Route =>
  route({
    name: alertType.callbackPath,
    path: alertType.callbackPath,
    authLevel: 'anonymous',
    POST: operation({
      operationId: `on${alertType.callbackPath}`,
      tag: 'callbacks',
      summary: `What becomes of a call about ${alertType.name}`,
      description: `The telephone service reports here, and asks what to say. When somebody answers, the message is spoken: “${alertType.phrase}”`,
      demand: (headers, log) => {
        if ((headers.get(signatureHeader) ?? '') === '') refuse(phoneOr503(phone), 'no token', log);
      },
      query: 'any',
      headers: z.object({
        [signatureHeader]: z.string().optional().meta({ description: 'The signature of the telephone service.' }),
      }),
      body: {
        maxBytes: MAX_FORM_BYTES,
        format: 'form',
        content: { 'application/x-www-form-urlencoded': { schema: formSchema, examples: { answered: FORM } } },
        parse: (form: unknown): Form => formSchema.parse(form),
      },
      answers: {
        200: {
          description: 'What the call is to do; nothing where the callback only reports something.',
          mediaType: XML,
          schema: z.string(),
        },
      },
      problems: {
        400: {
          codes: ['invalid_request', 'empty_body', 'not_gzip', 'not_utf8'],
          description: 'Not a form.',
          detail: 'A parameter is given twice.',
        },
        401: { codes: ['not_authorised'], description: 'The signature of the telephone service is missing or wrong.' },
        503: {
          codes: ['phone_off'],
          description: 'The phone is switched off (`PHONE=off`).',
          headers: RETRY_AFTER.partial(),
        },
      },
      handle: async ({ headers, body: form, search, log }) => {
        const parts = phoneOr503(phone);
        const { handle, instructions } = parts;
        const request = { path: `api/${alertType.callbackPath}`, search, form };
        const signature = headers[signatureHeader] ?? '';
        const base = await instructions.baseOf(request, signature);
        if (base === undefined) return refuse(parts, 'token not valid', log);
        const body = await instructions.answer(request, base, async (events) => handle(events, alertType, log), log);
        return { status: 200, body };
      },
    }),
  });

const refuse = ({ refusals }: InstructionParts, reason: Refusal, log: Log): never => {
  refusals.note(reason, log);
  throw new Problem('not_authorised');
};
