import * as z from 'zod';
import { isNotificationId, type NotificationId, notificationIdPrefix, notificationIdSchema } from '../model/ids.ts';
import {
  isEmpty,
  isShort,
  isUnderWay,
  type NotificationCase,
  notificationSchema,
  outboxSchema,
} from '../state/notification.ts';
import { recipientSchema } from '../state/recipient.ts';
import { type Lines, linesSchema } from '../state/step.ts';
import { DamagedRow } from '../../storage/errors.ts';
import type { KeyRange, NewProperties, StoredRow } from '../../storage/row.ts';

/** The format of the rows that this version writes. A later version raises it if this version would misread its rows. */
export const CALLS_FORMAT = 3;

/**
 * The marks that queries filter by, `yes` or `no`. `live`: a recipient is not final, or a call is open. `told`: all outcomes are published.
 * `short`: it has reached too few.
 */
export type Mark = 'live' | 'told' | 'short';

const about = 'about';
const outbox = 'outbox';

const recipientProperty = (index: number): string => `r${String(index).padStart(2, '0')}`;

const marksOf = (known: NotificationCase): Readonly<Record<Mark, string>> => ({
  live: isUnderWay(known) ? 'yes' : 'no',
  told: isEmpty(known.outbox) ? 'yes' : 'no',
  short: isShort(known) ? 'yes' : 'no',
});

/**
 * The changed properties of a notification's row: one JSON text for the notification, and one for each recipient.
 *
 * @param before undefined: it is new
 * @param commit names this write, so that an instance recognizes its own write after a lost answer
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

/** The properties of the shared row. Its mark includes it in the query for live notifications. */
export const linesProperties = (lines: Lines): NewProperties => ({ lines: JSON.stringify(lines), live: 'yes' });

export const parseLines = (row: StoredRow): Lines => jsonOf(row, 'lines', linesSchema);

const keySchema = z.object({ notificationId: notificationIdSchema, fingerprint: z.string(), createdAt: z.number() });

/** The request of an `Idempotency-Key`, and its time in milliseconds since 1970. */
export type IdempotencyRow = z.output<typeof keySchema>;

/** @throws {DamagedRow} */
export const parseKey = (row: StoredRow): IdempotencyRow => jsonOf(row, 'use', keySchema);

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

/** The one partition of calls, because a transaction needs one. It takes about 2,000 rows a second; `CALLS_PER_DAY` stays far below. */
export const CALLS = 'notifications';

const START = 'notification|';
/** After the last id, which is hexadecimal. */
const END = `${START}g`;

/** The row of the state that all instances share. It sorts before all notifications: a single query reads both. */
export const LINES_KEY = `${START}!line`;

export const notificationKey = (id: NotificationId): string => `${START}${id}`;

/** The key is hashed because a row key does not allow all of its characters. */
export const idempotencyRowKey = (keyHash: string): string => `key|${keyHash}`;

export const idOf = (rowKey: string): NotificationId | undefined => {
  const id = rowKey.slice(START.length);
  return rowKey.startsWith(START) && isNotificationId(id) ? id : undefined;
};

/** An id is some seconds older than its row. */
const ID_IS_EARLIER_MS = 60_000;

const upTo = (at: number): string => `${START}${notificationIdPrefix(Math.max(0, at - ID_IS_EARLIER_MS))}~`;

/** The shared row, and the notifications that were created since a time in milliseconds since 1970; undefined: all. */
export const linesAndNotifications = (since: number | undefined): KeyRange => ({
  from: LINES_KEY,
  before: since === undefined ? END : upTo(since),
});

/** The filter of a list. Times are in milliseconds since 1970. */
export interface NotificationsQuery {
  /** The last notification of the page before. */
  readonly after?: NotificationId | undefined;
  /** Created then or later, or a little earlier. */
  readonly since?: number | undefined;
  /** Created then or earlier. */
  readonly until?: number | undefined;
}

export const notificationsIn = ({ after, since, until }: NotificationsQuery): KeyRange => ({
  from:
    after !== undefined
      ? `${notificationKey(after)}~`
      : `${START}${until === undefined ? '0' : notificationIdPrefix(until)}`,
  before: since === undefined ? END : upTo(since),
});

export const notificationsBefore = (at: number): KeyRange => ({
  from: `${START}${notificationIdPrefix(at)}~`,
  before: END,
});
