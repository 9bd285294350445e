import * as z from 'zod';

import { alertTypeOf } from '../calls/model/alert-types.ts';
import type { NotificationRequest, Phone as CallsPhone } from '../calls/phone.ts';
import { MAX_DETAILS_CHARACTERS } from '../calls/rules/message.ts';
import { type Phone, phoneOr503 } from './phone-off.ts';
import { CALLS_ANSWERS, CALLS_PROBLEMS, callsAnswer } from './placed-calls.ts';
import { listNotifications } from './read-notifications.ts';
import {
  alertTypeName,
  MAX_RECIPIENTS,
  MAX_RECIPIENTS_BYTES,
  recipientList,
  recipientWaves,
  referenceText,
} from './recipients.ts';
import { spokenText } from './request-values.ts';
import { type BodyHeaders, jsonBody, type RequestBody } from './route/body.ts';
import { fault } from './route/faults.ts';
import { NO_QUERY, whenRight } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

const ONE = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] };
const WAVES = {
  channel: 'phone',
  alert_type: 'ConfirmedFire',
  recipients: [[{ number: '+12065550100', name: 'Ana' }], ['+12065550101', '+12065550102']],
  reference: 'ridge-04',
  details: 'Antelope Ridge, camera 4.',
  confirm: true,
  wave_seconds: 120,
  confirmations_needed: 2,
};

const DEFAULT_WAVE_SECONDS = 120;
const WAVE_SECONDS = 'must be an integer from 30 to 3600';
const NEEDED = 'must be an integer from 1 to the number of recipients';
const OBJECT = { error: 'must be an object with channel, alert_type and recipients' };
const KEYS =
  'Whether the callee has to press a key: 1 confirms, 2 repeats the message, 3 says that they cannot go. A callee who presses neither 1 nor 3 is called again.';

const members = {
  channel: z
    .literal('phone', { error: 'must be "phone"' })
    .meta({ description: 'How the service reaches the recipients.', examples: ['phone'] }),
  alert_type: alertTypeName,
  reference: referenceText.optional().meta({
    description:
      'Shown in the state and on the page, never spoken: a camera, a link. It is not secret. Visible characters, not spaces alone.',
    examples: ['ridge-04'],
  }),
  details: spokenText(MAX_DETAILS_CHARACTERS)
    .optional()
    .meta({
      description:
        'The place. Spoken after the phrase each time, and shown in the state and on the page. Plain text of one line, without markup.',
      examples: ['Antelope Ridge, camera 4.'],
    }),
};

const toAll = z
  .strictObject(
    {
      ...members,
      recipients: recipientList,
      confirm: z
        .boolean({ error: 'must be true or false' })
        .optional()
        .meta({ description: KEYS, examples: [true] }),
    },
    OBJECT,
  )
  .meta({
    id: 'NotificationToAll',
    minProperties: 3,
    description: 'All recipients are called at once.',
    examples: [ONE],
  });

const inWaves = z
  .strictObject(
    {
      ...members,
      recipients: recipientWaves,
      confirm: z.literal(true, { error: 'must be true for recipients in waves' }).meta({ description: KEYS }),
      wave_seconds: z
        .int({ error: WAVE_SECONDS })
        .min(30, WAVE_SECONDS)
        .max(3_600, WAVE_SECONDS)
        // No `default`: generated types would demand the member.
        .optional()
        .meta({ description: 'The time from one wave to the next, in seconds. By default 120.', examples: [120] }),
      confirmations_needed: z
        .int({ error: NEEDED })
        .min(1, NEEDED)
        .max(MAX_RECIPIENTS, NEEDED)
        .optional()
        .meta({
          description: 'How many confirmations stop the rest: 1 to the number of recipients. By default 1.',
          examples: [2],
        }),
    },
    OBJECT,
  )
  .superRefine(
    ({ recipients, confirmations_needed: needed = 1 }, context) => {
      if (needed <= recipients.flat().length) return;
      context.addIssue(fault('out_of_range', NEEDED, { path: ['confirmations_needed'] }));
    },
    whenRight('recipients', 'confirmations_needed'),
  )
  .meta({
    id: 'NotificationInWaves',
    minProperties: 4,
    description: 'One wave after another, until enough have confirmed.',
    examples: [WAVES],
  });

const options = { maxBytes: MAX_RECIPIENTS_BYTES, examples: {}, element: 'recipient' };
const toAllBody = jsonBody(toAll, {
  ...options,
  unknownDetail: (name) => (name in inWaves.shape ? 'is only for recipients in waves' : 'is unknown'),
});
const inWavesBody = jsonBody(inWaves, options);

const areWaves = (json: unknown): boolean =>
  typeof json === 'object' &&
  json !== null &&
  'recipients' in json &&
  Array.isArray(json.recipients) &&
  json.recipients.some(Array.isArray);

type Common = Pick<z.output<typeof toAll>, keyof typeof members | 'recipients'>;

const requestOf = ({ alert_type, recipients, reference, details }: Common) => ({
  alertType: alertTypeOf(alert_type),
  waves: recipients,
  reference,
  details: details?.trim(),
});

/** Either of two forms. The recipients select the form, so that a 400 names the faults of that form. */
const parseNotification = (json: unknown, headers: BodyHeaders): NotificationRequest => {
  if (!areWaves(json)) {
    const asked = toAllBody.parse(json, headers);
    return { ...requestOf(asked), confirm: asked.confirm };
  }
  const asked = inWavesBody.parse(json, headers);
  const { confirm, wave_seconds: seconds = DEFAULT_WAVE_SECONDS, confirmations_needed: confirmationsNeeded } = asked;
  return { ...requestOf(asked), confirm, waveMs: seconds * 1_000, confirmationsNeeded };
};

const notificationBody: RequestBody<NotificationRequest> = {
  maxBytes: MAX_RECIPIENTS_BYTES,
  content: {
    'application/json': {
      schema: z.xor([toAll, inWaves]).meta({
        id: 'NotificationRequest',
        description: 'An alert and its recipients.',
        examples: [ONE],
      }),
      examples: { one: ONE, waves: WAVES },
    },
  },
  parse: parseNotification,
};

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .meta({ examples: ['6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41'] })
  .optional()
  .meta({
    param: {
      description:
        'The same request with the same key returns the same notification for 24 hours, with its current state, and places no new calls.',
    },
  });

/**
 * `POST /api/notifications`: stores the notification, calls every recipient and answers the state of each, 202; 502 if no
 * recipient can be called. With an `Idempotency-Key`, the same request again within 24 hours finds the same notification and places no new calls;
 * the key with another request is a 422. `GET` lists the newest.
 */
export const notifications = (phone: Phone<Pick<CallsPhone, 'send' | 'list' | 'needingAttention'>>): Route =>
  route({
    name: 'Notifications',
    path: 'notifications',
    authLevel: 'function',
    GET: listNotifications(phone),
    POST: operation({
      operationId: 'sendNotification',
      tag: 'calls',
      summary: 'Phone people',
      description:
        'Calls every recipient as soon as a line is free. When the call is answered, the service speaks the message of the alert type and hangs up. A recipient who is busy or does not answer is called again.',
      query: NO_QUERY,
      headers: z.object({ 'Idempotency-Key': idempotencyKey }),
      body: notificationBody,
      answers: CALLS_ANSWERS,
      problems: CALLS_PROBLEMS,
      handle: async ({ headers: { 'Idempotency-Key': key }, body, log }) =>
        callsAnswer(await phoneOr503(phone).send(body, key, log)),
    }),
  });
