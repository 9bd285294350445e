import * as z from 'zod';
import { ALERT_TYPE_NAMES } from '../calls/model/alert-types.ts';
import { WAITING_CODES } from '../calls/model/notification-request.ts';
import { OUTCOMES } from '../calls/model/outcomes.ts';
import { MASKED_NUMBER_PATTERN } from '../calls/model/phone-number.ts';
import { RECIPIENT_STATUSES } from '../calls/state/view.ts';

const time = z.iso.datetime().meta({ description: 'UTC.', examples: ['2026-11-21T08:00:02.500Z'] });

const attemptSchema = z
  .object({
    call_connection_id: z.string().min(1).optional(),
    placed_at: time.optional(),
    ended_at: time.optional(),
    outcome: z.enum(OUTCOMES).optional().describe('Left out while the call lasts.'),
    code: z.int().optional().describe('As the telephone network or Communication Services reported it.'),
    sub_code: z.int().optional(),
    reason: z.string().min(1).optional().describe('In words.'),
  })
  .meta({ description: 'One attempt to reach the recipient. Unknown members are left out.' });

const recipientSchema = z.object({
  recipient: z.string().regex(MASKED_NUMBER_PATTERN).describe('The number, masked.'),
  name: z.string().optional().describe('As the request gave it.'),
  status: z.enum(RECIPIENT_STATUSES),
  wave: z.int().min(1).optional().describe('From 1; left out without waves.'),
  attempts: z.array(attemptSchema),
  next_attempt_at: time.optional(),
  answered_at: time.optional().describe('When a person or a machine answered first.'),
  confirmed_at: time.optional(),
  code: z.enum(WAITING_CODES).optional().describe('Of a waiting recipient: for what. See `/api/problems`.'),
  reason: z
    .string()
    .min(1)
    .optional()
    .describe('Of a waiting recipient: for what, in words. After a call to them: why it failed.'),
  since: time.optional().describe('Since when the recipient waits.'),
});

export const NOTIFICATION_STATUSES = ['in_progress', 'completed', 'stopped'] as const;

const stateSchema = z.object({
  notification_id: z.string(),
  alert_type: z.enum(ALERT_TYPE_NAMES),
  reference: z.string().optional(),
  details: z.string().optional().describe('The place. Spoken after the phrase of the alert type.'),
  created_at: time,
  status: z.enum(NOTIFICATION_STATUSES),
  reached: z
    .int()
    .min(0)
    .describe(
      'How many were reached: recipients who confirmed if the request has `confirm`, otherwise recipients who heard the message.',
    ),
  confirmations_needed: z.int().min(1).optional().describe('How many have to confirm; left out without waves.'),
  confirmed_by: z.array(z.int().min(0)).describe('The recipients that confirmed, by index in `recipients`.'),
  next_wave_at: time
    .optional()
    .describe('When the next wave is called if too few confirm until then; left out if none waits.'),
  stopped_at: time.optional().describe('When a person stopped it.'),
  stopped_by: z.string().optional().describe('Who stopped it, if the request said.'),
  phone_off_at: time
    .optional()
    .describe(
      'When `PHONE=off` ended it: recipients who were not reached by then are `not_reached`, and it needs attention.',
    ),
  acknowledged_by: z.string().optional().describe('The person who handles the alert.'),
  acknowledged_at: time.optional(),
  worsened_since_acknowledged: z
    .literal(true)
    .optional()
    .describe('After it was acknowledged, more recipients were not reached, or it ended with too few confirmations.'),
  recipients: z.array(recipientSchema).describe('In the order of the request.'),
});

export const NOTIFICATION_EXAMPLE: z.input<typeof stateSchema> = {
  notification_id: 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de',
  alert_type: 'ConfirmedFire',
  created_at: '2026-11-21T08:00:02.500Z',
  status: 'completed',
  reached: 1,
  confirmed_by: [],
  recipients: [
    {
      recipient: '+1206•••••00',
      status: 'heard',
      answered_at: '2026-11-21T08:00:09.100Z',
      attempts: [
        {
          call_connection_id: '401f2d00-5d56-4d8a-b1e3-0242ac120002',
          placed_at: '2026-11-21T08:00:02.620Z',
          ended_at: '2026-11-21T08:00:31.004Z',
          outcome: 'heard',
        },
      ],
    },
  ],
};

/** The current state of a notification. */
export const notificationAnswer = stateSchema.meta({
  id: 'NotificationState',
  description: 'A notification and the state of its recipients.',
  examples: [NOTIFICATION_EXAMPLE],
});
