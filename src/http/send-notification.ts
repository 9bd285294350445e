import * as z from 'zod';

import type { PlaceCalls } from '../calls/place-calls.ts';
import { type IdempotencyStore, KEY_OF_ANOTHER_REQUEST } from '../calls/store/idempotency-store.ts';
import { CALLS_ANSWERS, CALLS_PROBLEMS, callsAnswer } from './placed-calls.ts';
import { Problem } from './problem.ts';
import { alertTypeName, alertTypeOf, MAX_RECIPIENTS_BYTES, recipientsSchema } from './recipients.ts';
import { jsonBody } from './route/body.ts';
import { NO_QUERY } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

/** What sends notifications. */
export interface NotificationsParts {
  readonly placeCalls: PlaceCalls;
  readonly idempotency: IdempotencyStore;
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
      description: 'The same request with the same key gets the first answer for 24 hours, and calls nobody again.',
    },
  });

const KEY_USED = 'This Idempotency-Key was used for another request in the last 24 hours.';

/**
 * `POST /api/notifications`: calls every recipient and answers what became of each, 202; 502 where nobody could be called.
 * With an `Idempotency-Key`, the same request again within 24 hours gets the first one's answer and calls nobody; the key
 * with another request is a 422.
 */
export const sendNotification = ({ placeCalls, idempotency }: NotificationsParts): Route =>
  route({
    name: 'Notifications',
    path: 'notifications',
    authLevel: 'function',
    POST: operation({
      operationId: 'sendNotification',
      tag: 'calls',
      summary: 'Phone people',
      description:
        'Places a call to every recipient at once. When one connects, the message of the alert type is spoken, and the call is hung up.',
      query: NO_QUERY,
      headers: z.object({ 'Idempotency-Key': idempotencyKey }),
      body: jsonBody(notificationSchema, {
        maxBytes: MAX_RECIPIENTS_BYTES,
        examples: { one: ONE, several: SEVERAL },
        element: 'recipient',
      }),
      answers: CALLS_ANSWERS,
      problems: {
        ...CALLS_PROBLEMS,
        422: {
          description: 'The `Idempotency-Key` belongs to another request. Nobody was called.',
          detail: KEY_USED,
        },
      },
      handle: async ({ headers: { 'Idempotency-Key': key }, body: { alert_type, recipients }, log }) => {
        const alertType = alertTypeOf(alert_type);
        const place = () => placeCalls(alertType, recipients, log);
        if (key === undefined) return callsAnswer(recipients, await place());
        const outcomes = await idempotency.once(key, { alertType, recipients }, place, log);
        if (outcomes === KEY_OF_ANOTHER_REQUEST) throw new Problem(422, { detail: KEY_USED });
        return callsAnswer(recipients, outcomes);
      },
    }),
  });
