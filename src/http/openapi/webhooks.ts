import * as z from 'zod';
import type { ZodOpenApiObject } from 'zod-openapi';

import { OUTCOME_SOURCE } from '../../calls/model/outcomes.ts';
import { MASKED_NUMBER_PATTERN } from '../../calls/model/phone-number.ts';
import { FINAL_STATES } from '../../calls/state/recipient.ts';
import { NOTIFICATION_EXAMPLE, notificationAnswer } from '../notification-answer.ts';
import { parameter } from '../route/fields.ts';

const event = <Data extends z.ZodType>(type: string, id: string, data: Data) =>
  z
    .looseObject({
      specversion: z.literal('1.0'),
      id: z.string().describe('The same when it is sent again.'),
      source: z.literal(OUTCOME_SOURCE),
      type: z.literal(type),
      subject: z.string().describe('The id of the notification.'),
      time: z.iso.datetime(),
      datacontenttype: z.literal('application/json'),
      data,
    })
    .meta({ id });

/** The events that the service posts to `OUTCOME_WEBHOOK_URL` and to an Event Grid topic. Made at the first request, to start sooner. */
export const describeWebhooks = (): NonNullable<ZodOpenApiObject['webhooks']> => {
  const { notification_id, alert_type, reference, details, reached, confirmations_needed } = notificationAnswer.shape;
  const about = { notification_id, alert_type, reference, details, reached, confirmations_needed };

  const OUTCOME = z
    .xor([
      event(
        'Notification.RecipientFinal',
        'RecipientFinal',
        z.looseObject({
          ...about,
          recipient: z.string().regex(MASKED_NUMBER_PATTERN).describe('The number, masked.'),
          index: z.int().min(0).max(49).describe('In `recipients`.'),
          wave: z.int().min(1).max(50).optional().describe('From 1; left out without waves.'),
          status: z.enum(FINAL_STATES),
          attempts: z.int().min(0).max(100),
        }),
      ),
      event('Notification.Completed', 'Completed', notificationAnswer),
      event(
        'Notification.Acknowledged',
        'Acknowledged',
        z.looseObject({ ...about, acknowledged_by: z.string(), acknowledged_at: z.iso.datetime() }),
      ),
    ])
    .meta({ id: 'Outcome' });

  const EXAMPLE = {
    specversion: '1.0',
    id: `${NOTIFICATION_EXAMPLE.notification_id}/completed`,
    source: OUTCOME_SOURCE,
    type: 'Notification.Completed',
    subject: NOTIFICATION_EXAMPLE.notification_id,
    time: '2026-11-21T08:00:41.000Z',
    datacontenttype: 'application/json',
    data: NOTIFICATION_EXAMPLE,
  };

  return {
    outcome: {
      post: {
        operationId: 'onOutcome',
        tags: ['calls'],
        summary: 'The outcome of a notification',
        description:
          'One CloudEvent a request, at least once and in no order, signed with `OUTCOME_WEBHOOK_SECRET` as Standard Webhooks says. Up to 16 requests run in parallel, and a batch has 10 seconds. An event without a 2xx answer is sent again, for 24 hours.',
        security: [],
        requestParams: {
          header: z.object({
            'webhook-id': parameter(z.string(), 'The `id` of the event.', EXAMPLE.id),
            'webhook-timestamp': parameter(z.string(), 'When it was sent, in seconds since 1970.', '1795248041'),
            'webhook-signature': parameter(
              z.string(),
              'Of id, time and body.',
              'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
            ),
          }),
        },
        requestBody: {
          required: true,
          content: {
            'application/cloudevents+json': { schema: OUTCOME, examples: { completed: { value: EXAMPLE } } },
          },
        },
        responses: {
          '2XX': { description: 'Accepted.' },
          '4XX': { description: 'Refused: the event is sent again.' },
        },
      },
    },
  };
};
