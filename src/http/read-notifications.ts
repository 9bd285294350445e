import * as z from 'zod';

import { isNotificationId } from '../calls/model/ids.ts';
import type { NotificationBody, Phone as CallsPhone } from '../calls/phone.ts';
import { NOTIFICATION_EXAMPLE, NOTIFICATION_STATUSES, notificationAnswer } from './notification-answer.ts';
import { type Phone, PHONE_PROBLEMS, phoneOr503 } from './phone-off.ts';
import { Problem } from './problem.ts';
import { notReversed, timeParameter, WHEN_ENDS_ARE_RIGHT } from './range-parameters.ts';
import { alertTypeName, referenceText } from './recipients.ts';
import { flag, visibleText, integer } from './request-values.ts';
import { get, operation, post, type Route } from './route/route.ts';
import { jsonBody } from './route/body.ts';
import { NO_QUERY, parameter } from './route/fields.ts';

export type OneNotificationParts = Pick<CallsPhone, 'read' | 'stop' | 'acknowledge'>;

const notificationId = z.string().transform((text, context) => {
  if (isNotificationId(text)) return text;
  context.addIssue('must be the next_cursor of an answer');
  return z.NEVER;
});

const EXAMPLE_ID = NOTIFICATION_EXAMPLE.notification_id;

const path = z.object({
  id: parameter(notificationId, 'The `notification_id` of the answer to the request.', EXAMPLE_ID),
});

/** The common part of the operations about one notification. */
const ofNotification = {
  tag: 'calls',
  path,
  query: NO_QUERY,
  answers: {
    200: {
      description: 'The notification after the request.',
      schema: notificationAnswer,
    },
  },
  problems: ['unknown_notification', ...PHONE_PROBLEMS],
} as const;

const oneAnswer = (found: NotificationBody | undefined) => {
  if (found === undefined) throw new Problem('unknown_notification');
  return { status: 200 as const, jsonBody: found };
};

/** `GET /api/notifications/{id}`: the state of a notification. */
export const readNotification = (phone: Phone<OneNotificationParts>): Route =>
  get('Notification', 'notifications/{id}', {
    authLevel: 'function',
    ...ofNotification,
    operationId: 'getNotification',
    summary: 'The state of a notification',
    description: 'Phone numbers are masked. Unknown members are left out.',
    conditional: true,
    handle: async ({ path: { id } }) => oneAnswer(await phoneOr503(phone).read(id)),
  });

const operator = visibleText(60);

const stopBody = jsonBody(
  z
    .strictObject(
      {
        by: operator
          .optional()
          .meta({ description: 'The person who stops it, as other operators see it.', examples: ['Ana'] }),
      },
      { error: 'must be an object with by' },
    )
    .meta({ id: 'Stop' }),
  { maxBytes: 4_096, examples: { ana: { by: 'Ana' } } },
);

/** `POST /api/notifications/{id}/stop`: a false alarm. No further calls. A callee in a call hears the message to its end. */
export const stopNotification = (phone: Phone<OneNotificationParts>): Route =>
  post('StopNotification', 'notifications/{id}/stop', {
    authLevel: 'function',
    ...ofNotification,
    operationId: 'stopNotification',
    summary: 'Stop a notification',
    description:
      'For a false alarm. Waiting and ringing recipients are stopped; a callee who listens hears the message to its end. Stopping again, or after the end, changes nothing. The body is optional: it says who stops it.',
    body: { ...stopBody, isOptional: true, parse: (json, headers) => stopBody.parse(json ?? {}, headers) },
    handle: async ({ path: { id }, body: { by }, log }) => oneAnswer(await phoneOr503(phone).stop(id, log, by)),
  });

const acknowledgement = z
  .strictObject(
    {
      by: operator.meta({
        description: 'The person who handles the alert, as other operators see it.',
        examples: ['Ana'],
      }),
    },
    { error: 'must be an object with by' },
  )
  .meta({ id: 'Acknowledgement' });

/** `POST /api/notifications/{id}/acknowledge`: a person handles the alert. It places no call and stops no call. */
export const acknowledgeNotification = (phone: Phone<OneNotificationParts>): Route =>
  post('AcknowledgeNotification', 'notifications/{id}/acknowledge', {
    authLevel: 'function',
    ...ofNotification,
    operationId: 'acknowledgeNotification',
    summary: 'Say who handles a notification',
    description:
      'It places no call and stops no call: all operators see the name. Acknowledging again replaces name and time.',
    body: jsonBody(acknowledgement, { maxBytes: 4_096, examples: { ana: { by: 'Ana' } } }),
    handle: async ({ path: { id }, body: { by }, log }) => oneAnswer(await phoneOr503(phone).acknowledge(id, by, log)),
  });

const listQuery = z
  .object({
    limit: parameter(integer(1, 500, 20), 'How many at most, 1 to 500; 20 if it is not given.', 20),
    cursor: parameter(
      notificationId.optional(),
      'The `next_cursor` of the previous answer. The list continues there.',
      EXAMPLE_ID,
    ),
    attention: parameter(
      flag(false),
      '`true`: all notifications that need attention, regardless of `limit` and `cursor`: they run, or ended within 24 hours, were not stopped, and have reached too few.',
      'true',
    ),
    status: parameter(
      z.enum(NOTIFICATION_STATUSES, `must be ${NOTIFICATION_STATUSES.join(', ')}`).optional(),
      'Only notifications with this status.',
      'in_progress',
    ),
    alert_type: parameter(alertTypeName.optional(), 'Only notifications with this alert type.', 'ConfirmedFire'),
    reference: parameter(referenceText.optional(), 'Only notifications with exactly this reference.', 'ridge-04'),
    ts_utc_start: timeParameter('Only notifications created then or later.', '2026-11-21T00:00:00Z'),
    ts_utc_end: timeParameter('Only notifications created then or earlier.', '2026-11-21T23:59:59.999999Z'),
  })
  .superRefine(notReversed, WHEN_ENDS_ARE_RIGHT);

const phoneStanding = z
  .object({
    usable: z.boolean(),
    since: z.iso.datetime().optional().describe('Since when it is not.'),
    reason: z.string().optional().describe('Why it is not, in words.'),
  })
  .meta({
    description:
      'With `attention=true`: whether calls can be placed, by the last check of the provider and the last calls.',
  });

const MICROSECONDS = 1_000n;

/** The requested ends, in whole milliseconds since 1970: the resolution of the ids of notifications. */
const endsOf = ({ ts_utc_start: start, ts_utc_end: end }: z.output<typeof listQuery>) => ({
  // The start of 1970 is 0n, which is falsy.
  since: start === undefined ? undefined : Math.max(0, Number((start + MICROSECONDS - 1n) / MICROSECONDS)),
  until: end === undefined ? undefined : Math.max(0, Number(end / MICROSECONDS)),
});

const matcher = (asked: z.output<typeof listQuery>) => {
  const { status, alert_type, reference } = asked;
  const { since = 0, until = Infinity } = endsOf(asked);
  return (body: NotificationBody): boolean =>
    (status === undefined || body.status === status) &&
    (alert_type === undefined || body.alert_type === alert_type) &&
    (reference === undefined || body.reference === reference) &&
    Date.parse(body.created_at) >= since &&
    Date.parse(body.created_at) <= until;
};

/** `GET /api/notifications`: notifications, the newest first, or only notifications that need attention. */
export const listNotifications = (phone: Phone<Pick<CallsPhone, 'list' | 'needingAttention'>>) =>
  operation({
    operationId: 'listNotifications',
    tag: 'calls',
    summary: 'Notifications, or only notifications that need attention',
    description:
      'The newest first. Waves need `confirmations_needed` confirmations, `confirm` needs one, otherwise one callee must hear the message. Without `attention=true` at most 1,000 rows are read: `next_cursor` says that there may be more, even if few or none are listed.',
    query: listQuery,
    conditional: true,
    answers: {
      200: {
        description: 'The notifications, each with its current state.',
        schema: z
          .object({
            notifications: z.array(notificationAnswer),
            next_cursor: z.string().optional().describe('There may be more: send it as `cursor`.'),
            phone: phoneStanding.optional(),
          })
          .meta({ id: 'Notifications' }),
      },
    },
    problems: PHONE_PROBLEMS,
    handle: async ({ query }) => {
      const { list, needingAttention } = phoneOr503(phone);
      const isMeant = matcher(query);
      if (query.attention) {
        const { notifications: found, phone: standing } = await needingAttention();
        return { status: 200, jsonBody: { notifications: found.filter(isMeant), phone: standing } };
      }
      const { limit: most, cursor: after } = query;
      const { found, next } = await list({ most, after, ...endsOf(query), isMeant });
      return { status: 200, jsonBody: { notifications: [...found], next_cursor: next } };
    },
  });
