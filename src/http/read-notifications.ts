import * as z from 'zod';

import type { Instant } from '../analytics/model/instant.ts';
import { isNotificationId } from '../calls/model/ids.ts';
import type { NotificationBody, Phone as CallsPhone } from '../calls/phone.ts';
import { NOTIFICATION_EXAMPLE, NOTIFICATION_STATUSES, notificationAnswer } from './notification-answer.ts';
import { type Phone, PHONE_PROBLEMS, phoneOr503 } from './phone-off.ts';
import { Problem } from './problem.ts';
import { parseQueryTime } from './range-parameters.ts';
import { alertTypeName } from './recipients.ts';
import { instant, UTC_TIME_PATTERN, visibleText, wholeNumber } from './request-values.ts';
import { operation, type Route, route } from './route/route.ts';
import { jsonBody } from './route/body.ts';
import { fault } from './route/faults.ts';
import { NO_QUERY, parameter, whenRight } from './route/fields.ts';

/** What reads one notification, stops it, or takes it in hand. */
export type OneNotificationParts = Pick<CallsPhone, 'read' | 'stop' | 'acknowledge'>;

const path = z.object({
  id: parameter(
    z.string().transform((text, context) => {
      if (isNotificationId(text)) return text;
      context.addIssue('is unknown');
      return z.NEVER;
    }),
    'The `notification_id` of the answer to the request.',
    NOTIFICATION_EXAMPLE.notification_id,
  ),
});

const problems = ['unknown_notification', ...PHONE_PROBLEMS] as const;

const oneAnswer = (found: NotificationBody | undefined) => {
  if (found === undefined) throw new Problem('unknown_notification');
  return { status: 200 as const, jsonBody: found };
};

/** `GET /api/notifications/{id}`: what became of a notification. */
export const readNotification = (phone: Phone<OneNotificationParts>): Route =>
  route({
    name: 'Notification',
    path: 'notifications/{id}',
    authLevel: 'function',
    GET: operation({
      operationId: 'getNotification',
      tag: 'calls',
      summary: 'What became of a notification',
      description: 'Any instance answers the same. Phone numbers are masked. What is not known is left out.',
      path,
      query: NO_QUERY,
      conditional: true,
      answers: {
        200: {
          description: 'The notification as it stands.',
          schema: notificationAnswer,
          examples: { 'two recipients': NOTIFICATION_EXAMPLE },
        },
      },
      problems,
      handle: async ({ path: { id } }) => oneAnswer(await phoneOr503(phone).read(id)),
    }),
  });

/** `POST /api/notifications/{id}/stop`: a false alarm. Nobody is called any more; who is being spoken to hears the message to its end. */
export const stopNotification = (phone: Phone<OneNotificationParts>): Route =>
  route({
    name: 'StopNotification',
    path: 'notifications/{id}/stop',
    authLevel: 'function',
    POST: operation({
      operationId: 'stopNotification',
      tag: 'calls',
      summary: 'Stop a notification',
      description:
        'A false alarm: who waits or rings is stopped, who is being spoken to hears the message to its end. Stopping twice is one stop; after the end nothing changes.',
      path,
      query: NO_QUERY,
      answers: {
        200: {
          description: 'The notification as it stands then.',
          schema: notificationAnswer,
          examples: { stopped: { ...NOTIFICATION_EXAMPLE, status: 'stopped' } },
        },
      },
      problems,
      handle: async ({ path: { id }, log }) => oneAnswer(await phoneOr503(phone).stop(id, log)),
    }),
  });

const acknowledgement = z
  .strictObject(
    {
      by: visibleText(60).meta({ description: 'Who has it in hand, as others are to read it.', examples: ['Ana'] }),
    },
    { error: 'must be an object with by' },
  )
  .meta({ id: 'Acknowledgement' });

/** `POST /api/notifications/{id}/acknowledge`: somebody has it in hand. It wakes nobody and stops nothing. */
export const acknowledgeNotification = (phone: Phone<OneNotificationParts>): Route =>
  route({
    name: 'AcknowledgeNotification',
    path: 'notifications/{id}/acknowledge',
    authLevel: 'function',
    POST: operation({
      operationId: 'acknowledgeNotification',
      tag: 'calls',
      summary: 'Say who has a notification in hand',
      description:
        'It wakes nobody and stops nothing: everybody sees who has seen it. The first one stays; a second is answered with the first.',
      path,
      query: NO_QUERY,
      body: jsonBody(acknowledgement, { maxBytes: 4_096, examples: { ana: { by: 'Ana' } } }),
      answers: {
        200: {
          description: 'The notification as it stands then.',
          schema: notificationAnswer,
          examples: {
            acknowledged: {
              ...NOTIFICATION_EXAMPLE,
              acknowledged_by: 'Ana',
              acknowledged_at: '2026-11-21T08:00:40.000Z',
            },
          },
        },
      },
      problems,
      handle: async ({ path: { id }, body: { by }, log }) =>
        oneAnswer(await phoneOr503(phone).acknowledge(id, by, log)),
    }),
  });

const createdTime = (which: string, example: string) =>
  parameter(
    instant('a time such as 2026-11-21T08:00:00Z', { pattern: UTC_TIME_PATTERN }, parseQueryTime).optional(),
    `${which} ISO 8601 with \`Z\`, an offset, or nothing (then it is UTC).`,
    example,
  );

const listQuery = z
  .object({
    limit: parameter(wholeNumber(1, 100, 20), 'How many at most, 1 to 100; 20 if it is not given.', 20),
    cursor: parameter(
      z
        .string()
        .transform((text, context) => {
          if (isNotificationId(text)) return text;
          context.addIssue(fault('invalid', 'must be the next_cursor of an answer'));
          return z.NEVER;
        })
        .optional(),
      'The `next_cursor` of the answer before: the list goes on there.',
      NOTIFICATION_EXAMPLE.notification_id,
    ),
    attention: parameter(
      z.enum(['true', 'false'], 'must be true or false').default('false'),
      '`true`: all that need somebody’s attention, whatever `limit` says: they run, or ended within 24 hours, were not stopped, and have reached fewer than enough.',
      'true',
    ),
    status: parameter(
      z.enum(NOTIFICATION_STATUSES, `must be ${NOTIFICATION_STATUSES.join(', ')}`).optional(),
      'Only those of this status.',
      'in_progress',
    ),
    alert_type: parameter(alertTypeName.optional(), 'Only those of this alert type.', 'ConfirmedFire'),
    reference: parameter(visibleText(100).optional(), 'Only those with exactly this reference.', 'ridge-04'),
    ts_utc_start: createdTime('Only those created then or later.', '2026-11-21T00:00:00Z'),
    ts_utc_end: createdTime('Only those created then or earlier.', '2026-11-21T23:59:59.999999Z'),
  })
  .superRefine(
    ({ ts_utc_start: start, ts_utc_end: end }, context) => {
      if (start !== undefined && end !== undefined && start > end) {
        context.addIssue(fault('reversed', 'is after ts_utc_end', { path: ['ts_utc_start'] }));
      }
    },
    whenRight('ts_utc_start', 'ts_utc_end'),
  )
  .superRefine(
    ({ attention, cursor }, context) => {
      if (attention === 'true' && cursor !== undefined) {
        context.addIssue(
          fault('invalid', 'is not for attention=true, which answers all of them', { path: ['cursor'] }),
        );
      }
    },
    whenRight('attention', 'cursor'),
  );

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

/** Whether a notification is one of those that are asked for. */
const matcher = ({
  status,
  alert_type,
  reference,
  ts_utc_start: start,
  ts_utc_end: end,
}: z.output<typeof listQuery>) => {
  const isIn = (at: bigint): boolean => (start === undefined || at >= start) && (end === undefined || at <= end);
  return (body: NotificationBody): boolean =>
    (status === undefined || body.status === status) &&
    (alert_type === undefined || body.alert_type === alert_type) &&
    (reference === undefined || body.reference === reference) &&
    isIn(BigInt(Date.parse(body.created_at)) * MICROSECONDS);
};

const millisecondsOf = (instantAsked: Instant | undefined): number | undefined =>
  instantAsked === undefined ? undefined : Math.max(0, Number(instantAsked / MICROSECONDS));

/** `GET /api/notifications`: notifications, the newest first, or those that need attention. */
export const listNotifications = (phone: Phone<Pick<CallsPhone, 'list' | 'needingAttention'>>) =>
  operation({
    operationId: 'listNotifications',
    tag: 'calls',
    summary: 'Notifications, or those that need attention',
    description:
      'The newest first. Enough is one who has heard the message, one who has confirmed where `confirm` was asked for, or `confirmations_needed` in waves. A question without `attention=true` reads at most 1,000 rows: `next_cursor` says that there may be more, also if few or none are listed.',
    query: listQuery,
    conditional: true,
    answers: {
      200: {
        description: 'Each as it stands.',
        schema: z
          .object({
            notifications: z.array(notificationAnswer),
            next_cursor: z.string().optional().describe('The list may go on: ask again with it as `cursor`.'),
            phone: phoneStanding.optional(),
          })
          .meta({ id: 'Notifications' }),
        examples: { one: { notifications: [NOTIFICATION_EXAMPLE] } },
      },
    },
    problems: PHONE_PROBLEMS,
    handle: async ({ query }) => {
      const { list, needingAttention } = phoneOr503(phone);
      const isMeant = matcher(query);
      if (query.attention === 'true') {
        const { notifications: found, phone: standing } = await needingAttention();
        return { status: 200, jsonBody: { notifications: found.filter(isMeant), phone: standing } };
      }
      const { limit: most, cursor: after } = query;
      const [since, until] = [millisecondsOf(query.ts_utc_start), millisecondsOf(query.ts_utc_end)];
      const { found, next } = await list({ most, after, since, until, isMeant });
      return { status: 200, jsonBody: { notifications: [...found], next_cursor: next } };
    },
  });
