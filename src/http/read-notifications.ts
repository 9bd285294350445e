import * as z from 'zod';

import { isNotificationId } from '../calls/model/notification-id.ts';
import type { NotificationView, Phone as CallsPhone } from '../calls/phone.ts';
import { answerOf, NOTIFICATION_EXAMPLE, notificationAnswer } from './notification-answer.ts';
import { type Phone, PHONE_PROBLEMS, phoneOr503 } from './phone-off.ts';
import { Problem } from './problem.ts';
import { wholeNumber } from './request-values.ts';
import type { ProblemAnswers } from './route/answers.ts';
import { operation, type Route, route } from './route/route.ts';
import { NO_QUERY, parameter } from './route/fields.ts';

/** What reads one notification, or stops it. */
export type OneNotificationParts = Pick<CallsPhone, 'read' | 'stop'>;

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

const problems: ProblemAnswers = {
  404: { codes: ['unknown_notification', 'not_found'], description: 'Unknown.' },
  ...PHONE_PROBLEMS,
};

const oneAnswer = (found: NotificationView | undefined) => {
  if (found === undefined) throw new Problem('unknown_notification');
  return { status: 200 as const, jsonBody: answerOf(found) };
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

/** `GET /api/notifications`: the newest notifications, the newest first. */
export const listNotifications = (phone: Phone<Pick<CallsPhone, 'newest'>>) =>
  operation({
    operationId: 'listNotifications',
    tag: 'calls',
    summary: 'The newest notifications',
    description: 'The newest first.',
    query: z.object({
      limit: parameter(wholeNumber(1, 100, 20), 'How many at most, 1 to 100; 20 if it is not given.', 20),
    }),
    conditional: true,
    answers: {
      200: {
        description: 'Each as it stands.',
        schema: z.strictObject({ notifications: z.array(notificationAnswer) }).meta({ id: 'Notifications' }),
        examples: { one: { notifications: [NOTIFICATION_EXAMPLE] } },
      },
    },
    problems: {
      400: {
        codes: ['invalid_request'],
        description: 'The query is wrong.',
        detail: 'limit must be a whole number from 1 to 100',
        errors: [{ code: 'invalid', field: 'limit', detail: 'must be a whole number from 1 to 100' }],
      },
      ...PHONE_PROBLEMS,
    },
    handle: async ({ query }) => {
      const found = await phoneOr503(phone).newest(query.limit);
      return { status: 200, jsonBody: { notifications: found.map(answerOf) } };
    },
  });
