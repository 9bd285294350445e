import * as z from 'zod';

import { DamagedRow } from '../../storage/errors.ts';
import type { NewProperties, StoredRow } from '../../storage/row.ts';
import { ALERT_TYPE_NAMES } from '../alert-types.ts';
import { ATTEMPT_STATES, OUTCOMES } from '../attempt.ts';
import { type CallId, parseCallId } from '../call-id.ts';
import type { Notification } from '../notification.ts';
import { notificationIdSchema } from '../notification-id.ts';
import { isMaskedNumber, type MaskedNumber, parsePhoneNumber, type PhoneNumber } from '../phone-number.ts';
import { type Recipient, RECIPIENT_STATES } from '../recipient.ts';

/** The format of the rows that this version writes. */
export const CALLS_FORMAT = 2;

// A time is stored as a date, so that a storage browser shows it as one; it is milliseconds since 1970 in the program.
const time = z.codec(z.date(), z.number(), {
  decode: (date) => date.getTime(),
  encode: (ms) => new Date(ms),
});

const notificationSchema = z.object({
  id: notificationIdSchema,
  alertType: z.enum(ALERT_TYPE_NAMES),
  reference: z.string().optional(),
  createdAt: time,
  deadlineAt: time,
  callbackBaseUrl: z.string().optional(),
  keyHash: z.string().optional(),
  confirm: z.boolean().optional(),
  waveMs: z.int().optional(),
  wave: z.int(),
  nextWaveAt: time.optional(),
  coversUntil: time.optional(),
  finals: z.int(),
  stoppedAt: time.optional(),
  confirmedAt: time.optional(),
  completedAt: time.optional(),
});

const callId = z.custom<CallId>((value) => parseCallId(value) !== undefined);
const number = z.custom<PhoneNumber | MaskedNumber>(
  (value) => isMaskedNumber(value) || (typeof value === 'string' && parsePhoneNumber(value) === value),
);
const count = z.number().optional();

const attemptsSchema = z.array(
  z.object({
    id: z.string(),
    state: z.enum(ATTEMPT_STATES),
    claimedAt: z.number(),
    resentAt: count,
    resent: count,
    lookAt: count,
    callId: callId.optional(),
    placedAt: count,
    speakingAt: count,
    isTakenOver: z.boolean().optional(),
    acceptedAt: count,
    unclearAt: count,
    startedAt: count,
    completedAt: count,
    confirmedAt: count,
    hasSpeechFailed: z.boolean().optional(),
    disconnectedAt: count,
    isUnanswered: z.boolean().optional(),
    hangingUpSince: count,
    hangingUpAt: count,
    endedAt: count,
    outcome: z.enum([...OUTCOMES, 'no_line', 'set_up']).optional(),
    hasHeardUnit: z.boolean().optional(),
    code: count,
    subCode: count,
    reason: z.string().optional(),
    isReasonReported: z.boolean().optional(),
  }),
);

const attempts = z.codec(z.string(), attemptsSchema, {
  decode: (text, context): z.input<typeof attemptsSchema> => {
    try {
      return JSON.parse(text);
    } catch {
      context.issues.push({ code: 'custom', message: 'not JSON', input: text });
      return z.NEVER;
    }
  },
  encode: (list) => JSON.stringify(list),
});

const recipientSchema = z.object({
  state: z.enum(RECIPIENT_STATES),
  number: number.optional(),
  wave: z.int(),
  attempts,
  dueAt: time.optional(),
  isCovered: z.boolean().optional(),
  queuedAt: time,
  isCounted: z.boolean().optional(),
  isStopped: z.boolean().optional(),
  noLine: z.int().optional(),
  refusedBeside: z.int().optional(),
  reason: z.string().optional(),
});

const idempotencySchema = z.object({ notificationId: notificationIdSchema, fingerprint: z.string(), createdAt: time });

const daySchema = z.object({ calls: z.int() });

const dueSchema = z.object({
  refusedBeside: z.int().optional(),
  indexes: z.string().optional(),
  isCompleted: z.boolean().optional(),
  firstAt: time.optional(),
});

/** What a key was used for. */
export type IdempotencyRow = z.output<typeof idempotencySchema>;

/** What an entry about something due holds beside its key. */
export type DueProperties = z.output<typeof dueSchema>;

const parse = <Output>({ partitionKey, rowKey, properties }: StoredRow, schema: z.ZodType<Output>): Output => {
  const parsed = schema.safeParse(properties);
  if (!parsed.success) {
    throw new DamagedRow(
      partitionKey,
      rowKey,
      `wrong: ${parsed.error.issues.map(({ path }) => path.join('.')).join()}`,
    );
  }
  return parsed.data;
};

/** A row → notification. @throws {DamagedRow}, as the functions below */
export const parseNotificationRow = (row: StoredRow): Notification => parse(row, notificationSchema);

/** A row → recipient. */
export const parseRecipientRow = (row: StoredRow): Recipient => {
  const { number: known, ...rest } = parse(row, recipientSchema);
  return { ...rest, number: known };
};

/** A row → what a key was used for. */
export const parseIdempotencyRow = (row: StoredRow): IdempotencyRow => parse(row, idempotencySchema);

/** A row → how many calls of a day are spoken for. */
export const parseDayRow = (row: StoredRow): number => parse(row, daySchema).calls;

/** A row → what an entry about something due holds. */
export const parseDueRow = (row: StoredRow): DueProperties => parse(row, dueSchema);

/** Notification → row. */
export const notificationProperties = (notification: Notification): NewProperties =>
  notificationSchema.encode(notification);

/** Recipient → row. */
export const recipientProperties = (recipient: Recipient): NewProperties =>
  recipientSchema.encode({ ...recipient, attempts: [...recipient.attempts] });

/** What a key was used for → row. */
export const idempotencyProperties = (row: IdempotencyRow): NewProperties => idempotencySchema.encode(row);

/** What an entry about something due holds → row. */
export const dueProperties = (properties: DueProperties): NewProperties => dueSchema.encode(properties);
