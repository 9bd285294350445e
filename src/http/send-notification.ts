import * as z from 'zod';

import type { Notifications } from '../calls/notifications.ts';
import { type Phone, phoneOr503 } from './phone-off.ts';
import { CALLS_ANSWERS, CALLS_PROBLEMS, callsAnswer, KEY_PROBLEM } from './placed-calls.ts';
import { listNotifications } from './read-notifications.ts';
import { alertTypeName, alertTypeOf, MAX_RECIPIENTS_BYTES, recipientsSchema } from './recipients.ts';
import { jsonBody } from './route/body.ts';
import { NO_QUERY } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

/** What sends notifications. */
export interface NotificationsParts {
  readonly notifications: Notifications;
}

const ONE = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] };
const SEVERAL = { channel: 'phone', alert_type: 'BurnJob', recipients: ['+12065550100', '+12065550101'] };

const notificationSchema = z
  .strictObject(
    {
      channel: z
        .literal('phone', { error: 'must be "phone"' })
        .meta({ description: 'How the recipients are told.', examples: ['phone'] }),
      alert_type: alertTypeName,
      recipients: recipientsSchema,
    },
    { error: 'must be an object with channel, alert_type and recipients' },
  )
  .meta({ id: 'Notification', description: 'An alert and who is to be told.', examples: [ONE] });

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .meta({ examples: ['6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41'] })
  .optional()
  .meta({
    param: {
      description:
        'The same request with the same key finds the same notification for 24 hours, as it stands, and calls nobody anew.',
    },
  });

/**
 * `POST /api/notifications`: writes the notification down, calls every recipient and answers what became of each, 202; 502 where nobody
 * can be called. With an `Idempotency-Key`, the same request again within 24 hours finds the same notification and calls nobody anew;
 * the key with another request is a 422. `GET` lists the newest.
 */
export const notifications = (phone: Phone<NotificationsParts>): Route =>
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
        'Calls every recipient as soon as a line is free. When somebody answers, the message of the alert type is spoken, and the call is hung up. Who is busy or does not answer is called again.',
      query: NO_QUERY,
      headers: z.object({ 'Idempotency-Key': idempotencyKey }),
      body: jsonBody(notificationSchema, {
        maxBytes: MAX_RECIPIENTS_BYTES,
        examples: { one: ONE, several: SEVERAL },
        element: 'recipient',
      }),
      answers: CALLS_ANSWERS,
      problems: { ...CALLS_PROBLEMS, ...KEY_PROBLEM },
      handle: async ({ headers: { 'Idempotency-Key': key }, body: { alert_type, recipients }, log }) => {
        const request = { alertType: alertTypeOf(alert_type), recipients };
        return callsAnswer(recipients, await phoneOr503(phone).notifications.send(request, key, log));
      },
    }),
  });
