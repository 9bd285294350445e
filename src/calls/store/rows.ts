import * as z from 'zod';

import { DamagedRow } from '../../storage/errors.ts';
import { copiedProperties, FORMAT_PROPERTY, type NewProperties, type StoredRow } from '../../storage/row.ts';
import { ALERT_TYPE_NAMES } from '../model/alert-types.ts';
import { NOT_MADE, OUTCOMES } from '../model/outcome.ts';
import { ATTEMPT_STATES } from '../state/attempt.ts';
import { type CallId, parseCallId } from '../model/call-id.ts';
import { DESTINATIONS } from '../model/outcome-events.ts';
import { notificationIdSchema } from '../model/notification-id.ts';
import { isMaskedNumber, type MaskedNumber, parsePhoneNumber, type PhoneNumber } from '../model/phone-number.ts';
import { MESSAGE, MOST_REPEATS, THANKED, UNDERSTOOD } from '../model/speech.ts';
import { FINAL_STATES, type Recipient, RECIPIENT_STATES } from '../state/recipient.ts';

/**
 * The format of the rows that this version writes. Raise it only when the version before would misread what this one writes: a row of a
 * later format is left alone.
 */
export const CALLS_FORMAT = 2;

/**
 * An object of which a later version may know more: what it has added is carried along and written again as it was. Only `copiedProperties`
 * and JSON come in, so that whatever is carried along can be written.
 */
const open = <Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodType<z.output<z.ZodObject<Shape>>, z.input<z.ZodObject<Shape>>> => z.looseObject(shape);

// Also what a damaged row has is a number that can be counted on with.
const wholeNumber = z.int32().nonnegative();

// A time is stored as a date, so that a storage browser shows it as one; it is milliseconds since 1970 in the program.
const time = z.codec(z.date(), z.number(), {
  decode: (date) => date.getTime(),
  encode: (ms) => new Date(ms),
});

const notificationSchema = open({
  id: notificationIdSchema,
  alertType: z.enum(ALERT_TYPE_NAMES),
  reference: z.string().optional(),
  details: z.string().optional(),
  createdAt: time,
  deadlineAt: time,
  callbackBaseUrl: z.string().optional(),
  keyHash: z.string().optional(),
  confirm: z.boolean().optional(),
  waveMs: z.int().optional(),
  confirmationsNeeded: z.int().optional(),
  confirmations: z.int().optional(),
  wave: wholeNumber,
  nextWaveAt: time.optional(),
  coversUntil: time.optional(),
  hungUpBy: time.optional(),
  ringsBy: time.optional(),
  silentAt: time.optional(),
  finals: z.int(),
  stoppedAt: time.optional(),
  confirmedAt: time.optional(),
  completedAt: time.optional(),
  isListed: z.boolean().optional(),
  acknowledgedBy: z.string().optional(),
  acknowledgedAt: time.optional(),
});

const callId = z.custom<CallId>((value) => parseCallId(value) !== undefined);
const number = z.custom<PhoneNumber | MaskedNumber>(
  (value) => isMaskedNumber(value) || (typeof value === 'string' && parsePhoneNumber(value) === value),
);
const count = z.number().optional();

const laterSpeech = open({
  number: z.literal([1, MOST_REPEATS, UNDERSTOOD, THANKED]),
  askedAt: z.number(),
  acceptedAt: count,
  unclearAt: count,
  before: z.literal([MESSAGE, 1, MOST_REPEATS, UNDERSTOOD, THANKED]),
  isBeforeOver: z.boolean().optional(),
});

const attemptsSchema = z.array(
  open({
    id: z.string(),
    line: z.string().optional(),
    state: z.enum(ATTEMPT_STATES),
    claimedAt: z.number(),
    holdsNumber: z.boolean().optional(),
    isReplaced: z.boolean().optional(),
    beside: count,
    isProbe: z.boolean().optional(),
    makesWay: z.boolean().optional(),
    resentAt: count,
    resent: count,
    lookAt: count,
    callId: callId.optional(),
    placedAt: count,
    answeredAt: count,
    speakingAt: count,
    isMachine: z.boolean().optional(),
    isTakenOver: z.boolean().optional(),
    acceptedAt: count,
    unclearAt: count,
    startedAt: count,
    completedAt: count,
    later: laterSpeech.optional(),
    quietSince: count,
    repeatKeys: z.array(z.int()).readonly().optional(),
    confirmedAt: count,
    cannotGoAt: count,
    hasSpeechFailed: z.boolean().optional(),
    disconnectedAt: count,
    isUnanswered: z.boolean().optional(),
    hangingUpSince: count,
    hangingUpAt: count,
    endedAt: count,
    outcome: z.enum([...OUTCOMES, ...NOT_MADE]).optional(),
    hasHeardUnit: z.boolean().optional(),
    code: count,
    subCode: count,
    reason: z.string().optional(),
    isReasonReported: z.boolean().optional(),
  }),
);

/** A property that holds JSON. */
const json = <Schema extends z.ZodType>(schema: Schema) =>
  z.codec(z.string(), schema, {
    decode: (text, context) => {
      try {
        return JSON.parse(text);
      } catch {
        context.issues.push({ code: 'custom', message: 'not JSON', input: text });
        return z.NEVER;
      }
    },
    encode: (value) => JSON.stringify(value),
  });

const attempts = json(attemptsSchema);

const recipientSchema = open({
  state: z.enum(RECIPIENT_STATES),
  number: number.optional(),
  wave: wholeNumber,
  attempts,
  dueAt: time.optional(),
  isCovered: z.boolean().optional(),
  isGrouped: z.boolean().optional(),
  queuedAt: time,
  isCounted: z.boolean().optional(),
  isStopped: z.boolean().optional(),
  toldFinal: z.enum(FINAL_STATES).optional(),
  noLine: wholeNumber.optional(),
  refusals: z.int().optional(),
  hadNoLine: z.boolean().optional(),
  madeWay: z.string().optional(),
  reason: z.string().optional(),
});

const idempotencySchema = open({ notificationId: notificationIdSchema, fingerprint: z.string(), createdAt: time });

const daySchema = open({ calls: wholeNumber });

const fault = open({ number: z.string(), at: z.number(), until: count, reason: z.string().optional() });

const lineSchema = open({
  lines: json(
    open({
      known: count,
      refusedAt: count,
      sureAt: count,
      refused: z.string().optional(),
      probeAt: count,
      nextAt: count,
      probeMs: count,
      forbiddenAt: count,
      fault: fault.optional(),
      silence: fault.optional(),
    }),
  ),
});

const openSchema = open({
  notificationId: notificationIdSchema,
  index: z.int(),
  attemptId: z.string(),
  isUrgent: z.boolean(),
  claimedAt: time,
  acceptedAt: time.optional(),
  connectedAt: time.optional(),
  hangUpAt: time.optional(),
  lookAt: time.optional(),
});

const dueSchema = open({
  /** Of those who wait for their first call: the index and the hash of the number of each. */
  people: json(z.array(z.tuple([z.int(), z.string()], z.unknown()))).optional(),
  /** Nobody of them is dialled before: a stop or a confirmation is being written. */
  heldBackUntil: time.optional(),
  /** Of one who waits again. */
  number: z.string().optional(),
  queuedAt: time.optional(),
  refusals: z.int().optional(),
  hadNoLine: z.boolean().optional(),
  indexes: z.string().optional(),
  /** Of each index, what is told of them. Entries of versions before leave it to the row. */
  words: z.string().optional(),
  isCompleted: z.boolean().optional(),
  /** What is told by `isCompleted`. */
  end: z.enum(['stopped', 'completed']).optional(),
  isAcknowledged: z.boolean().optional(),
  to: z.enum(DESTINATIONS).optional(),
  firstAt: time.optional(),
});

/** What a key was used for. */
export type IdempotencyRow = z.output<typeof idempotencySchema>;

/** What the row of an open call holds beside the hash of its number. */
export type OpenProperties = z.output<typeof openSchema>;

/** What an entry about something due holds beside its key. */
export type DueProperties = z.output<typeof dueSchema>;

/** How one kind of row is read and written. */
const rowsOf = <Schema extends z.ZodType<unknown, NewProperties>>(schema: Schema) => ({
  /** @throws {DamagedRow} */
  parse: (row: StoredRow): z.output<Schema> => {
    const { partitionKey, rowKey } = row;
    // Each write has the format of its own version.
    const { [FORMAT_PROPERTY]: _format, ...properties } = copiedProperties(row);
    const parsed = schema.safeParse(properties);
    if (parsed.success) return parsed.data;
    const wrong = parsed.error.issues.map(({ path }) => path.join('.')).join();
    throw new DamagedRow(partitionKey, rowKey, `wrong: ${wrong}`);
  },
  propertiesOf: (value: z.output<Schema>): NewProperties => schema.encode(value),
});

/** A notification's own row. */
export const notificationRows = rowsOf(notificationSchema);

/** A recipient's, with its attempts. */
export const recipientRows = {
  ...rowsOf(recipientSchema),
  propertiesOf: ({ attempts: list, ...rest }: Omit<Recipient, 'isUnreadable'>): NewProperties =>
    recipientSchema.encode({ ...rest, attempts: [...list] }),
};

/** What an `Idempotency-Key` was used for. */
export const idempotencyRows = rowsOf(idempotencySchema);

/** How many calls of a day are spoken for. */
export const dayRows = rowsOf(daySchema);

/** What is known of the lines. */
export const lineRows = rowsOf(lineSchema);

/** An open call. */
export const openRows = rowsOf(openSchema);

/** What an entry about something due holds. */
export const dueRows = rowsOf(dueSchema);
