import type { Notification, NotificationWithRecipients } from '../notification.ts';
import type { NotificationId } from '../notification-id.ts';
import type { Recipient } from '../recipient-state.ts';
import { NOTIFICATIONS, parseNotificationRow, parseRecipientRow, recipientKey } from './notification-rows.ts';
import { type Rows, RowsUnavailable, type StoredRow } from './rows.ts';

/** What was parsed. @throws {RowsUnavailable} for a row that is damaged or of another version */
export const demand = <Parsed>(parsed: Parsed | undefined): Parsed => {
  if (parsed === undefined) throw new RowsUnavailable('unknown row');
  return parsed;
};

/** The row of that key in the partition of notifications; undefined where there is none. */
export const readRow = async (rows: Rows, rowKey: string): Promise<StoredRow | undefined> =>
  rows.read({ partitionKey: NOTIFICATIONS, rowKey }, 'patient');

/** A recipient with the row that it was read from. */
export interface StoredRecipient {
  readonly index: number;
  readonly row: StoredRow;
  readonly recipient: Recipient;
}

/** One recipient of a notification; undefined where there is none. */
export const readRecipient = async (
  rows: Rows,
  id: NotificationId,
  index: number,
): Promise<StoredRecipient | undefined> => {
  const row = await readRow(rows, recipientKey(id, index));
  return row && { index, row, recipient: demand(parseRecipientRow(row)) };
};

/** Rows of a notification → its recipients. */
export const storedRecipients = (rows: readonly StoredRow[]): readonly StoredRecipient[] =>
  rows.flatMap((row) => {
    const index = indexIn(row);
    return index === undefined ? [] : [{ index, row, recipient: demand(parseRecipientRow(row)) }];
  });

/** Neighbouring rows → notifications, each with the recipients that follow it. */
export const assemble = (rows: readonly StoredRow[]): readonly NotificationWithRecipients[] => {
  const found: { notification: Notification; recipients: Recipient[] }[] = [];
  for (const row of rows) {
    if (indexIn(row) === undefined) found.push({ notification: demand(parseNotificationRow(row)), recipients: [] });
    else found.at(-1)?.recipients.push(demand(parseRecipientRow(row)));
  }
  return found;
};

const indexIn = ({ rowKey }: StoredRow): number | undefined => {
  const digits = /\|(\d\d)$/.exec(rowKey)?.[1];
  return digits === undefined ? undefined : Number(digits);
};
