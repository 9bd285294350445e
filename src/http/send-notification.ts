import * as z from 'zod';

import type { Phone as CallsPhone } from '../calls/phone.ts';
import { MAX_DETAILS_CHARACTERS } from '../calls/rules/message.ts';
import { type Phone, phoneOr503 } from './phone-off.ts';
import { CALLS_ANSWERS, CALLS_PROBLEMS, callsAnswer } from './placed-calls.ts';
import { listNotifications } from './read-notifications.ts';
import {
  alertTypeName,
  alertTypeOf,
  describedRecipients,
  describedWaves,
  MAX_RECIPIENTS,
  MAX_RECIPIENTS_BYTES,
  wavesSchema,
} from './recipients.ts';
import { spokenText, visibleText } from './request-values.ts';
import { jsonBody } from './route/body.ts';
import { fault } from './route/faults.ts';
import { NO_QUERY, whenRight } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

const ONE = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] };
const WAVES = {
  channel: 'phone',
  alert_type: 'ConfirmedFire',
  recipients: [['+12065550100'], ['+12065550101', '+12065550102']],
  reference: 'ridge-04',
  details: 'Antelope Ridge, camera 4.',
  confirm: true,
  wave_seconds: 120,
  confirmations_needed: 2,
};
const SEVERAL = { channel: 'phone', alert_type: 'BurnJob', recipients: ['+12065550100', '+12065550101'] };

const WAVE_SECONDS = 'must be a whole number from 30 to 3600';
const NEEDED = 'must be a whole number from 1 to the number of recipients';
const WITH_CONFIRM = 'must be true for recipients in waves';
const DEFAULT_WAVE_SECONDS = 120;

const members = {
  channel: z
    .literal('phone', { error: 'must be "phone"' })
    .meta({ description: 'How the recipients are told.', examples: ['phone'] }),
  alert_type: alertTypeName,
  reference: visibleText(100)
    .optional()
    .meta({
      description:
        'Shown in the state and on the page, never spoken: a camera, a link. Not for what only few may see. Without control and format characters, and not of spaces alone.',
      examples: ['ridge-04'],
    }),
  details: spokenText(MAX_DETAILS_CHARACTERS)
    .optional()
    .meta({
      description:
        "The place: spoken after the alert's sentence, each time that it is said, and shown in the state and on the page. Plain text of one line, without markup.",
      examples: ['Antelope Ridge, camera 4.'],
    }),
};

const confirm = z
  .boolean({ error: 'must be true or false' })
  .optional()
  .meta({
    description:
      'Whether the callee has to press a key: 1 confirms, 2 repeats the message, 3 says that they cannot go. Who presses neither 1 nor 3 is called again.',
    examples: [true],
  });

const waveMembers = {
  wave_seconds: z
    .int({ error: WAVE_SECONDS })
    .min(30, WAVE_SECONDS)
    .max(3_600, WAVE_SECONDS)
    .optional()
    .meta({
      description: 'Time from one wave to the next, in seconds; 120 by default.',
      examples: [120],
    }),
  confirmations_needed: z
    .int({ error: NEEDED })
    .min(1, NEEDED)
    .max(MAX_RECIPIENTS, NEEDED)
    .optional()
    .meta({
      description: 'How many have to confirm until the rest is stopped: 1 to the number of recipients; 1 by default.',
      examples: [2],
    }),
};

const notificationSchema = z
  .strictObject(
    { ...members, recipients: wavesSchema, confirm, ...waveMembers },
    { error: 'must be an object with channel, alert_type and recipients' },
  )
  .superRefine(
    ({ recipients: { waves, areWaves }, confirm: isConfirmed, ...given }, context) => {
      if (areWaves && isConfirmed !== true) {
        context.addIssue(fault('waves_need_confirm', WITH_CONFIRM, { path: ['confirm'] }));
      }
      if (areWaves) {
        const { confirmations_needed: needed } = given;
        if (typeof needed !== 'number' || needed <= waves.flat().length) return;
        context.addIssue(fault('out_of_range', NEEDED, { path: ['confirmations_needed'] }));
        return;
      }
      for (const name of Object.keys(waveMembers)) {
        if (!Object.hasOwn(given, name)) continue;
        context.addIssue(fault('only_with_waves', 'is only for recipients in waves', { path: [name] }));
      }
    },
    whenRight('recipients', 'confirm'),
  );

/** What {@link notificationSchema} takes, as the description shows it: a flat list, or waves with all that is for waves alone. */
const describedNotification = z
  .xor([
    z.strictObject({ ...members, recipients: describedRecipients, confirm }).meta({
      id: 'NotificationToAll',
      minProperties: 3,
      description: 'All recipients are called at once.',
      examples: [ONE],
    }),
    z
      .strictObject({
        ...members,
        recipients: describedWaves,
        confirm: z.literal(true).meta({ description: 'Waves need a key to be pressed.', examples: [true] }),
        ...waveMembers,
      })
      .meta({
        id: 'NotificationInWaves',
        minProperties: 4,
        description: 'One wave after another, until enough have confirmed.',
        examples: [WAVES],
      }),
  ])
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
        'Calls every recipient as soon as a line is free. When somebody answers, the message of the alert type is spoken, and the call is hung up. Who is busy or does not answer is called again.',
      query: NO_QUERY,
      headers: z.object({ 'Idempotency-Key': idempotencyKey }),
      body: jsonBody(notificationSchema, {
        described: describedNotification,
        maxBytes: MAX_RECIPIENTS_BYTES,
        examples: { one: ONE, several: SEVERAL, waves: WAVES },
        element: 'recipient',
      }),
      answers: CALLS_ANSWERS,
      problems: CALLS_PROBLEMS,
      handle: async ({ headers: { 'Idempotency-Key': key }, body, log }) => {
        const { waves, areWaves } = body.recipients;
        const request = {
          alertType: alertTypeOf(body.alert_type),
          waves,
          reference: body.reference,
          details: body.details?.trim(),
          confirm: body.confirm,
          confirmationsNeeded: body.confirmations_needed,
          waveMs: areWaves ? (body.wave_seconds ?? DEFAULT_WAVE_SECONDS) * 1_000 : undefined,
        };
        return callsAnswer(await phoneOr503(phone).send(request, key, log));
      },
    }),
  });
