import * as z from 'zod';
import { isNotificationId, type NotificationId, notificationIdPrefix, notificationIdSchema } from '../model/ids.ts';
import { type Lines, linesSchema } from '../state/lines.ts';
import {
  type AnyCase,
  reachedTooFew,
  type NotificationCase,
  notificationSchema,
  type SettledCase,
} from '../state/notification.ts';
import { type Outcomes, outcomesSchema, type Receiver, RECEIVERS } from '../state/outcomes.ts';
import { recipientSchema, settledRecipientSchema } from '../state/recipient.ts';
import { DamagedRow } from '../../storage/errors.ts';
import type { KeyRange, NewProperties, StoredRow } from '../../storage/row.ts';

/** The format of the rows that this version writes. A later version raises it if this version would misread its rows. */
export const CALLS_FORMAT = 4;

/** The one partition of calls, because a transaction needs one. It takes about 2,000 rows a second; `CALLS_PER_DAY` stays far below. */
export const CALLS = 'notifications';

/** The row that all instances share. It sorts before all live notifications: a single query reads both, and nothing else. */
export const LINES_KEY = '!lines';

const LIVE = '!live|';
const DONE = 'done|';
const OUT = 'out|';

export const liveKey = (id: NotificationId): string => `${LIVE}${id}`;
export const doneKey = (id: NotificationId): string => `${DONE}${id}`;

/** The key of the outcomes of a commit. Older outcomes sort first. */
export const outcomesKey = ({ at, notificationId }: Outcomes, commit: string): string =>
  `${OUT}${timeText(at)}|${notificationId}|${commit}`;

/** The key is hashed because a row key does not allow all of its characters. */
export const idempotencyRowKey = (keyHash: string): string => `key|${keyHash}`;

const timeText = (at: number): string => String(at).padStart(15, '0');

/** The notification of a row, live or settled. */
export const idOf = (rowKey: string): NotificationId | undefined => {
  const id = rowKey.slice(rowKey.indexOf('|') + 1);
  return (rowKey.startsWith(LIVE) || rowKey.startsWith(DONE)) && isNotificationId(id) ? id : undefined;
};

const about = 'about';

const recipientProperty = (index: number): string => `r${String(index).padStart(2, '0')}`;

/**
 * The changed properties of a notification's row: one JSON text for the notification, and one for each recipient.
 *
 * @param before undefined: it is new
 * @param commit names this write, so that an instance recognizes its own write after a lost answer
 */
export const changedProperties = (before: AnyCase | undefined, after: AnyCase, commit: string): NewProperties => ({
  ...(after.notification === before?.notification ? {} : { [about]: JSON.stringify(after.notification) }),
  ...Object.fromEntries(
    after.recipients.flatMap((recipient, index) =>
      recipient === before?.recipients[index] ? [] : [[recipientProperty(index), JSON.stringify(recipient)]],
    ),
  ),
  recipients: after.recipients.length,
  commit,
});

/** The row of a settled notification. `reachedTooFew`: by it a query finds the notifications that need attention. */
export const settledProperties = (settled: SettledCase, commit: string): NewProperties => ({
  ...changedProperties(undefined, settled, commit),
  reachedTooFew: reachedTooFew(settled) ? 'yes' : 'no',
});

export const isLiveRow = ({ rowKey }: StoredRow): boolean => rowKey.startsWith(LIVE);

export const parseLive = (row: StoredRow): NotificationCase & { readonly commit: string } => ({
  ...parsed(row, recipientSchema),
  commit: valueOf(row, 'commit', z.string(), row.properties['commit']),
});

export const parseSettled = (row: StoredRow): SettledCase => parsed(row, settledRecipientSchema);

const parsed = <Schema extends z.ZodType>(row: StoredRow, schema: Schema) => {
  const count = valueOf(row, 'recipients', z.int().min(0).max(99), row.properties['recipients']);
  const notification = jsonOf(row, about, notificationSchema);
  if (notification.id !== idOf(row.rowKey)) throw new DamagedRow(row.partitionKey, row.rowKey, 'wrong: id');
  const recipients = Array.from({ length: count }, (_, index) => jsonOf(row, recipientProperty(index), schema));
  return { notification, recipients };
};

export const linesProperties = (lines: Lines): NewProperties => ({ lines: JSON.stringify(lines) });

export const parseLines = (row: StoredRow): Lines => jsonOf(row, 'lines', linesSchema);

const keySchema = z.object({ notificationId: notificationIdSchema, fingerprint: z.string(), createdAt: z.number() });

/** The request of an `Idempotency-Key`, and its time in milliseconds since 1970. */
export type IdempotencyRow = z.output<typeof keySchema>;

/** @throws {DamagedRow} */
export const parseKey = (row: StoredRow): IdempotencyRow => jsonOf(row, 'use', keySchema);

export const keyProperties = (use: IdempotencyRow): NewProperties => ({ use: JSON.stringify(use) });

const deliverySchema = z.object({
  /** The receivers that have not got the outcomes. */
  to: z.array(z.enum(RECEIVERS)).readonly(),
  /** Until then an instance delivers the oldest outcomes; in milliseconds since 1970. */
  until: z.number().optional(),
});

/** The receivers that still have to get the outcomes of a commit. */
export type Delivery = Readonly<z.output<typeof deliverySchema>>;

export const deliveryProperties = (to: readonly Receiver[], until?: number): NewProperties => ({
  delivery: JSON.stringify({ to, until }),
});

export const outcomesProperties = ({ notificationId, at, entries, to }: Outcomes & Delivery): NewProperties => ({
  outcomes: JSON.stringify({ notificationId, at, entries }),
  ...deliveryProperties(to),
});

/** @throws {DamagedRow} */
export const parseOutcomes = (row: StoredRow): Outcomes & Delivery => ({
  ...jsonOf(row, 'outcomes', outcomesSchema),
  ...jsonOf(row, 'delivery', deliverySchema),
});

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
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const wrong = error.issues.map(({ path }) => [property, ...path].join('.')).join();
  throw new DamagedRow(partitionKey, rowKey, `wrong: ${wrong}`);
};

/** After the last id, which is hexadecimal. */
const END = 'g';

/** The row of the lines, and every live notification. */
export const LINES_AND_LIVE: KeyRange = { from: LINES_KEY, before: `${LIVE}~` };

/** A row is written some seconds after the time in its id. A list since a time must not miss a row of that time. */
const ID_IS_EARLIER_MS = 60_000;

const upTo = (at: number): string => `${notificationIdPrefix(Math.max(0, at - ID_IS_EARLIER_MS))}~`;

/** The filter of a list. Times are in milliseconds since 1970. */
export interface NotificationsQuery {
  /** The last notification of the page before. */
  readonly after?: NotificationId | undefined;
  /** Created then or later, or a little earlier. */
  readonly since?: number | undefined;
  /** Created then or earlier. */
  readonly until?: number | undefined;
}

const idsIn = (prefix: string, { after, since, until }: NotificationsQuery): KeyRange => ({
  from: `${prefix}${after === undefined ? (until === undefined ? '' : notificationIdPrefix(until)) : `${after}~`}`,
  before: `${prefix}${since === undefined ? END : upTo(since)}`,
});

export const liveIn = (query: NotificationsQuery): KeyRange => idsIn(LIVE, query);
export const doneIn = (query: NotificationsQuery): KeyRange => idsIn(DONE, query);

/** The outcomes that were decided before a time in milliseconds since 1970. */
export const outcomesBefore = (at: number): KeyRange => ({ from: OUT, before: `${OUT}${timeText(at)}` });
