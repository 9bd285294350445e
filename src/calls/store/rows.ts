import * as z from 'zod';

import { DamagedRow } from '../../storage/errors.ts';
import { copiedProperties, FORMAT_PROPERTY, type NewProperties, type StoredRow } from '../../storage/row.ts';
import { notificationIdSchema } from '../model/ids.ts';
import { DESTINATIONS } from '../model/outcome-events.ts';
import { extensible, json, time, wholeNumber } from '../model/stored.ts';
import { lineStateSchema } from '../rules/lines.ts';
import { notificationSchema } from '../state/notification.ts';
import { recipientSchema } from '../state/recipient.ts';

/**
 * The format of the rows that this version writes. Raise it only when the version before would misread what this one writes: a row of a
 * later format is left alone.
 */
export const CALLS_FORMAT = 2;

const idempotencySchema = extensible({
  notificationId: notificationIdSchema,
  fingerprint: z.string(),
  createdAt: time,
});

const daySchema = extensible({ calls: wholeNumber });

const lineSchema = extensible({ lines: json(lineStateSchema) });

const openSchema = extensible({
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

const dueSchema = extensible({
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
export const recipientRows = rowsOf(recipientSchema);

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
