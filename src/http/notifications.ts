import type { HttpHandler, HttpRequest } from '@azure/functions';
import * as z from 'zod';

import { ALERT_TYPE_NAMES, findAlertType } from '../calls/alert-types.ts';
import { type IdempotencyStore, KEY_OF_ANOTHER_REQUEST } from '../calls/store/idempotency-store.ts';
import type { PlaceCalls } from '../calls/place-calls.ts';
import { invocationLog } from '../log.ts';
import { readJson } from './body.ts';
import { answering, Problem } from './problem.ts';
import { readQuery } from './query.ts';
import { badBody, callsAnswer, MAX_RECIPIENTS_BODY_BYTES, recipientsSchema } from './recipients.ts';

/** Name of an alert type → alert type. */
export const alertTypeSchema = z
  .enum(ALERT_TYPE_NAMES, { error: `must be one of ${ALERT_TYPE_NAMES.join(', ')}` })
  .meta({ description: 'What is reported; it decides what is said.', examples: ['ConfirmedFire'] });

/** The body of `POST /api/notifications`. */
export const notificationSchema = z
  .strictObject(
    {
      channel: z
        .literal('phone', { error: 'must be "phone"' })
        .meta({ description: 'How the recipients are told.', examples: ['phone'] }),
      alert_type: alertTypeSchema,
      recipients: recipientsSchema,
    },
    { error: 'must be an object with channel, alert_type and recipients' },
  )
  .meta({
    description: 'An alert and who is to be told.',
    examples: [{ channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] }],
  });

/** `POST /api/notifications` has no query parameters. */
export const notificationQuerySchema = z.strictObject({});

/** The value of the `Idempotency-Key` header: 1 to 255 visible ASCII characters. */
export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .meta({ examples: ['6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41'] });

/** What sends notifications. */
export interface NotificationsParts {
  readonly placeCalls: PlaceCalls;
  readonly idempotency: IdempotencyStore;
}

/**
 * `POST /api/notifications`: calls every recipient and answers what became of each, 202; 502 where nobody could be called.
 * With an `Idempotency-Key`, the same request again within 24 hours gets the first one's answer and calls nobody; the key
 * with another request is a 422.
 */
export const notificationsHandler = ({ placeCalls, idempotency }: NotificationsParts): HttpHandler =>
  answering(async (request, context) => {
    readQuery(request, notificationQuerySchema);
    const key = readIdempotencyKey(request);
    const body = notificationSchema.safeParse(await readJson(request, MAX_RECIPIENTS_BODY_BYTES));
    if (!body.success) throw badBody(body.error);

    const { recipients } = body.data;
    const alertType = findAlertType(body.data.alert_type);
    if (alertType === undefined) throw new TypeError('an alert type without a row');
    const log = invocationLog(context);
    const place = () => placeCalls(alertType, recipients, log);
    const outcomes =
      key === undefined ? await place() : await idempotency.once(key, { alertType, recipients }, place, log);
    if (outcomes === KEY_OF_ANOTHER_REQUEST) {
      throw new Problem(422, { detail: 'This Idempotency-Key was used for another request in the last 24 hours.' });
    }
    return callsAnswer(recipients, outcomes);
  });

const readIdempotencyKey = (request: HttpRequest): string | undefined => {
  const header = request.headers.get('idempotency-key');
  if (header === null) return undefined;
  const key = idempotencyKeySchema.safeParse(header);
  if (key.success) return key.data;
  const detail = key.error.issues[0]?.message ?? 'is wrong';
  throw new Problem(400, {
    detail: `Idempotency-Key ${detail}`,
    errors: [{ field: 'Idempotency-Key', detail }],
  });
};
