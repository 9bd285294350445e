import * as z from 'zod';
import { type NotificationId, notificationIdSchema } from '../model/ids.ts';
import { type Lines, linesSchema } from '../state/lines.ts';
import { isShort, isUnderWay, type NotificationCase, notificationSchema } from '../state/notification.ts';
import { isEmpty, outboxSchema } from '../state/outbox.ts';
import { recipientSchema } from '../state/recipient.ts';
import { DamagedRow } from '../../storage/errors.ts';
import type { NewProperties, StoredRow } from '../../storage/row.ts';

/** The format of the rows that this version writes. A later version raises it if this one would misread what it writes. */
export const CALLS_FORMAT = 3;

/** The marks that queries filter by: texts, `yes` or `no`. */
export type Mark = 'live' | 'told' | 'short';

const about = 'about';
const outbox = 'outbox';

/** The property of a recipient. @example recipientProperty(3) // 'r03' */
const recipientProperty = (index: number): string => `r${String(index).padStart(2, '0')}`;

/** The marks of a notification: whether anything can still happen, whether all is told, and whether it has reached too few. */
const marksOf = (known: NotificationCase): Readonly<Record<Mark, string>> => ({
  live: isUnderWay(known) ? 'yes' : 'no',
  told: isEmpty(known.outbox) ? 'yes' : 'no',
  short: isShort(known) ? 'yes' : 'no',
});

/**
 * The properties of a notification's row that differ from what is stored: one JSON text for the notification and one for each recipient.
 *
 * @param before undefined: nothing is stored
 * @param commit names this write, so that an instance whose answer was lost knows its own
 */
export const changedProperties = (
  before: NotificationCase | undefined,
  after: NotificationCase,
  commit: string,
): NewProperties => ({
  ...(after.notification === before?.notification ? {} : { [about]: JSON.stringify(after.notification) }),
  ...(after.outbox === before?.outbox ? {} : { [outbox]: JSON.stringify(after.outbox) }),
  ...Object.fromEntries(
    after.recipients.flatMap((recipient, index) =>
      recipient === before?.recipients[index] ? [] : [[recipientProperty(index), JSON.stringify(recipient)]],
    ),
  ),
  ...marksOf(after),
  recipients: after.recipients.length,
  commit,
});

/** A stored notification. @throws {DamagedRow} */
export const parseCase = (row: StoredRow, id: NotificationId): NotificationCase & { readonly commit: string } => {
  const count = valueOf(row, 'recipients', z.int().min(0).max(99), row.properties['recipients']);
  const notification = jsonOf(row, about, notificationSchema);
  if (notification.id !== id) throw new DamagedRow(row.partitionKey, row.rowKey, 'wrong: id');
  return {
    notification,
    recipients: Array.from({ length: count }, (_, index) => jsonOf(row, recipientProperty(index), recipientSchema)),
    outbox: jsonOf(row, outbox, outboxSchema),
    commit: valueOf(row, 'commit', z.string(), row.properties['commit']),
  };
};

/** The properties of the row of the lines. Its mark lets the query that reads what is live find it. */
export const linesProperties = (lines: Lines): NewProperties => ({ lines: JSON.stringify(lines), live: 'yes' });

/** What all instances share. @throws {DamagedRow} */
export const parseLines = (row: StoredRow): Lines => jsonOf(row, 'lines', linesSchema);

const keySchema = z.object({ notificationId: notificationIdSchema, fingerprint: z.string(), createdAt: z.number() });

/** What an `Idempotency-Key` was used for, and when, in milliseconds since 1970. */
export type IdempotencyRow = z.output<typeof keySchema>;

/** What an `Idempotency-Key` was used for. @throws {DamagedRow} */
export const parseKey = (row: StoredRow): IdempotencyRow => jsonOf(row, 'use', keySchema);

/** The properties of the row of an `Idempotency-Key`. */
export const keyProperties = (use: IdempotencyRow): NewProperties => ({ use: JSON.stringify(use) });

const jsonOf = <Schema extends z.ZodType>(row: StoredRow, property: string, schema: Schema): z.output<Schema> => {
  const text = valueOf(row, property, z.string(), row.properties[property]);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new DamagedRow(row.partitionKey, row.rowKey, `wrong: ${property}`);
  }
  return valueOf(row, property, schema, value);
};

const valueOf = <Schema extends z.ZodType>(
  { partitionKey, rowKey }: StoredRow,
  property: string,
  schema: Schema,
  value: unknown,
): z.output<Schema> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path }) => [property, ...path].join('.')).join();
  throw new DamagedRow(partitionKey, rowKey, `wrong: ${wrong}`);
};
