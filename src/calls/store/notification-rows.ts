import * as z from 'zod';

import { ALERT_TYPE_NAMES } from '../alert-types.ts';
import { type CallId, parseCallId } from '../call-id.ts';
import { OUTCOMES } from '../call-outcome.ts';
import type { Notification } from '../notification.ts';
import { type NotificationId, notificationIdSchema } from '../notification-id.ts';
import { isMaskedNumber, type MaskedNumber, parsePhoneNumber, type PhoneNumber } from '../phone-number.ts';
import { type Recipient, RECIPIENT_STATES } from '../recipient-state.ts';
import { storedTime } from './row-values.ts';
import type { KeyRange, RowValues, StoredRow } from './rows.ts';

/**
 * The partition of notifications, their recipients, what is due, the keys of requests and the days' calls: one, so that what belongs
 * together changes together.
 */
export const NOTIFICATIONS = 'notifications';

/** The row key of a notification. */
export const notificationKey = (id: NotificationId): string => `notification|${id}`;

/** The row key of one of its recipients. */
export const recipientKey = (id: NotificationId, index: number): string =>
  `notification|${id}|${String(index).padStart(2, '0')}`;

/** A notification's row and those of its recipients. */
export const notificationRange = (id: NotificationId): KeyRange => ({
  from: notificationKey(id),
  to: `${notificationKey(id)}|~`,
});

/** All of them, the newest first. */
export const ALL_NOTIFICATIONS: KeyRange = { from: 'notification|', to: 'notification|~' };

/** The row key of an `Idempotency-Key`, hashed: its characters are the caller's, and not all may stand in a row key. */
export const idempotencyRowKey = (keyHash: string): string => `key|${keyHash}`;

/** The row key of a day's calls. */
export const dayRowKey = (day: string): string => `day|${day}`;

const notificationSchema = z.object({
  id: notificationIdSchema,
  alertType: z.enum(ALERT_TYPE_NAMES),
  createdAt: storedTime,
  dueAt: storedTime.optional(),
  callbackBaseUrl: z.string().optional(),
  keyHash: z.string().optional(),
  completedAt: storedTime.optional(),
});

const callId = z.custom<CallId>((value) => parseCallId(value) !== undefined);
const number = z.custom<PhoneNumber | MaskedNumber>(
  (value) => isMaskedNumber(value) || (typeof value === 'string' && parsePhoneNumber(value) === value),
);

const attemptSchema = z.object({
  id: z.string(),
  claimedAt: z.number(),
  resentAt: z.number().optional(),
  resent: z.number().optional(),
  callId: callId.optional(),
  placedAt: z.number().optional(),
  endedAt: z.number().optional(),
  outcome: z.enum(OUTCOMES).optional(),
  code: z.number().optional(),
  subCode: z.number().optional(),
  reason: z.string().optional(),
  isLost: z.boolean().optional(),
});

const attemptsSchema = z.array(attemptSchema);

const storedAttempts = z.codec(z.string(), attemptsSchema, {
  decode: (text, context): z.input<typeof attemptsSchema> => {
    try {
      return JSON.parse(text);
    } catch {
      context.issues.push({ code: 'custom', message: 'not JSON', input: text });
      return z.NEVER;
    }
  },
  encode: (attempts) => JSON.stringify(attempts),
});

const recipientSchema = z.object({
  state: z.enum(RECIPIENT_STATES),
  number,
  attempts: storedAttempts,
  deadlineAt: storedTime,
  dueAt: storedTime.optional(),
  reserved: z.boolean(),
  reason: z.string().optional(),
});

const idempotencySchema = z.object({
  notificationId: notificationIdSchema,
  fingerprint: z.string(),
  createdAt: storedTime,
});

const daySchema = z.object({ calls: z.int() });

/** The row of an `Idempotency-Key`. */
export type IdempotencyRow = z.output<typeof idempotencySchema>;

/** A row → notification; undefined where the row is damaged or of another version. So are the functions below. */
export const parseNotificationRow = (row: StoredRow): Notification | undefined =>
  notificationSchema.safeParse(row.values).data;

/** A row → recipient. */
export const parseRecipientRow = (row: StoredRow): Recipient | undefined => recipientSchema.safeParse(row.values).data;

/** A row → what a key was used for. */
export const parseIdempotencyRow = (row: StoredRow): IdempotencyRow | undefined =>
  idempotencySchema.safeParse(row.values).data;

/** A row → how many calls of a day are spoken for. */
export const parseDayRow = (row: StoredRow): number | undefined => daySchema.safeParse(row.values).data?.calls;

/** Notification → row. */
export const notificationValues = (notification: Notification): RowValues => notificationSchema.encode(notification);

/** Recipient → row. */
export const recipientValues = (recipient: Recipient): RowValues =>
  recipientSchema.encode({ ...recipient, attempts: [...recipient.attempts] });

/** What a key was used for → row. */
export const idempotencyValues = (row: IdempotencyRow): RowValues => idempotencySchema.encode(row);

/** How many calls of a day are spoken for → row. */
export const dayValues = (calls: number): RowValues => ({ calls });
