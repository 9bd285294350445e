import * as z from 'zod';

import { ALERT_TYPE_NAMES } from '../calls/model/alert-types.ts';
import { OUTCOMES } from '../calls/model/outcome.ts';
import { MASKED_NUMBER_PATTERN } from '../calls/model/phone-number.ts';
import {
  type AttemptView,
  type NotificationView,
  RECIPIENT_STATUSES,
  type RecipientView,
} from '../calls/state/view.ts';

const time = z.iso.datetime().meta({ description: 'UTC.', examples: ['2026-11-21T08:00:02.500Z'] });

const attemptSchema = z
  .strictObject({
    call_connection_id: z.string().min(1).optional(),
    placed_at: time.optional(),
    ended_at: time.optional(),
    outcome: z.enum(OUTCOMES).optional().describe('Left out while the call lasts.'),
    code: z.int().optional().describe('As the telephone network or Communication Services reported it.'),
    sub_code: z.int().optional(),
    reason: z.string().min(1).optional().describe('In words.'),
  })
  .meta({ description: 'One attempt to reach the recipient. What is not known is left out.' });

const recipientSchema = z.strictObject({
  recipient: z.string().regex(MASKED_NUMBER_PATTERN).describe('The number, masked.'),
  status: z.enum(RECIPIENT_STATUSES),
  wave: z.int().min(1).optional().describe('From 1; left out without waves.'),
  attempts: z.array(attemptSchema),
  next_attempt_at: time.optional(),
  reason: z.string().min(1).optional().describe('Of one who waits: for what, in words.'),
  since: time.optional().describe('Since when they wait.'),
});

/** A notification as it stands. */
export const notificationAnswer = z
  .strictObject({
    notification_id: z.string(),
    alert_type: z.enum(ALERT_TYPE_NAMES),
    reference: z.string().optional(),
    details: z.string().optional().describe('What is spoken beside the alert type: the place.'),
    created_at: time,
    confirmations: z.int().min(0).optional().describe('How many have confirmed; left out without `confirm`.'),
    confirmations_needed: z.int().min(1).optional().describe('How many have to; left out without waves.'),
    status: z.enum(['in_progress', 'completed', 'stopped']),
    recipients: z.array(recipientSchema).describe('In the order of the request.'),
  })
  .meta({ id: 'NotificationState', description: 'What became of a notification.' });

/** An example, for the description. */
export const NOTIFICATION_EXAMPLE: z.input<typeof notificationAnswer> = {
  notification_id: 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de',
  alert_type: 'ConfirmedFire',
  created_at: '2026-11-21T08:00:02.500Z',
  status: 'in_progress',
  recipients: [
    {
      recipient: '+1206•••••00',
      status: 'heard',
      attempts: [
        {
          call_connection_id: '401f2d00-5d56-4d8a-b1e3-0242ac120002',
          placed_at: '2026-11-21T08:00:02.620Z',
          ended_at: '2026-11-21T08:00:31.004Z',
          outcome: 'heard',
        },
      ],
    },
    {
      recipient: '+1206•••••01',
      status: 'waiting',
      attempts: [
        {
          call_connection_id: '401f2d00-5d56-4d8a-b1e3-0242ac120003',
          placed_at: '2026-11-21T08:00:02.655Z',
          ended_at: '2026-11-21T08:00:09.310Z',
          outcome: 'busy',
          code: 486,
          sub_code: 560486,
          reason: 'busy',
        },
      ],
      next_attempt_at: '2026-11-21T08:01:09.310Z',
    },
  ],
};

/** A notification as it stands → the body of an answer. */
export const answerOf = (view: NotificationView): z.input<typeof notificationAnswer> => ({
  notification_id: view.id,
  alert_type: view.alertType,
  reference: view.reference,
  details: view.details,
  created_at: isoTime(view.createdAt),
  confirmations: view.confirmations,
  confirmations_needed: view.confirmationsNeeded,
  status: view.status,
  recipients: view.recipients.map(recipientOf),
});

const recipientOf = ({ recipient, status, wave, attempts, nextAttemptAt, reason, since }: RecipientView) => ({
  recipient,
  status,
  wave,
  attempts: attempts.map(attemptOf),
  next_attempt_at: nextAttemptAt === undefined ? undefined : isoTime(nextAttemptAt),
  reason,
  since: since === undefined ? undefined : isoTime(since),
});

const attemptOf = ({ callId, placedAt, endedAt, outcome, code, subCode, reason }: AttemptView) => ({
  call_connection_id: callId,
  placed_at: placedAt === undefined ? undefined : isoTime(placedAt),
  ended_at: endedAt === undefined ? undefined : isoTime(endedAt),
  outcome,
  code,
  sub_code: subCode,
  reason,
});

const isoTime = (at: number): string => new Date(at).toISOString();
