import { isDamage, LaterFormat, type RowKeys } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { Notification } from '../state/notification.ts';
import type { Recipient } from '../state/recipient.ts';
import type { StoredCase } from './case-rows.ts';
import { indexOf, LINE_KEY, parseOpenKey } from './keys.ts';
import { lineRows, notificationRows, openRows, recipientRows } from './rows.ts';
import type { OpenRow, StoredLines } from './snapshot.ts';

/** Told of a row that cannot be read. */
export type TellOfRow = (row: RowKeys, error: Error) => void;

const MOST_TOLD = 1_000;

/** Reads rows. What cannot be read is told once and stays as it is: it stops nothing else. */
export class RowReader {
  readonly #table: Table;
  readonly #tellOnce: TellOfRow | undefined;
  readonly #told = new Set<string>();

  constructor(table: Table, tell?: TellOfRow) {
    this.#table = table;
    this.#tellOnce = tell;
  }

  /** What can be read of rows; undefined, and told once, if that is nothing. */
  readable<Value>(rows: readonly StoredRow[], read: () => Value): Value | undefined {
    try {
      return this.telling(rows, read);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return undefined;
    }
  }

  /** What can be read of rows. @throws {DamagedRow} and LaterFormat if that is nothing, which is told once */
  telling<Value>([row]: readonly StoredRow[], read: () => Value): Value | undefined {
    if (row === undefined) return undefined;
    try {
      this.#table.checkFormat(row);
      return read();
    } catch (error) {
      if (isUnreadable(error)) this.tell(row, error);
      throw error;
    }
  }

  /** Tells of a row that cannot be read, once. */
  tell(row: StoredRow, error: Error): void {
    if (this.#told.has(row.rowKey) || this.#told.size >= MOST_TOLD) return;
    this.#told.add(row.rowKey);
    this.#tellOnce?.(row, error);
  }

  /** The rows of one notification. Recipients are known by the index of their key: one that cannot be read stays in its place. */
  caseOf(rows: readonly StoredRow[]): StoredCase | undefined {
    const own = rows.find(({ rowKey }) => indexOf(rowKey) === undefined);
    if (own === undefined) return undefined;
    this.#table.checkFormat(own);
    const notification: Notification = notificationRows.parse(own);
    const byIndex = new Map(rows.map((row) => [indexOf(row.rowKey), row]));
    const count = Math.max(-1, ...[...byIndex.keys()].map((index = -1) => index)) + 1;
    const inPlace = Array.from({ length: count }, (_, index) => byIndex.get(index));
    const recipients = inPlace.map(
      (row) => (row && this.readable([row], () => recipientRows.parse(row))) ?? UNREADABLE,
    );
    return { notification, recipients, etags: [own.etag, ...inPlace.map((row) => row?.etag ?? '')] };
  }

  /** What is known of the lines, and the open calls. */
  linesOf(rows: readonly StoredRow[]): StoredLines {
    const lineRow = rows.find(({ rowKey }) => rowKey === LINE_KEY);
    const line = lineRow && this.readable([lineRow], () => lineRows.parse(lineRow));
    const open = rows.flatMap((row): readonly OpenRow[] => {
      const { rowKey } = row;
      const number = parseOpenKey(rowKey);
      if (number === undefined) return [];
      const call = this.readable([row], () => openRows.parse(row));
      // It holds back nobody for long: whoever is next to the number takes it over.
      if (call === undefined) return [{ rowKey, number, isUrgent: false, sentAt: 0, lookAt: 0 }];
      const { notificationId, index, attemptId, claimedAt: sentAt, ...rest } = call;
      return [{ rowKey, number, ...rest, sentAt, attemptId, attempt: { notificationId, index, attemptId } }];
    });
    return { line: line?.lines ?? {}, open, etags: new Map(rows.map(({ rowKey, etag }) => [rowKey, etag])) };
  }
}

/** Whether an error says that a row cannot be read: it is damaged, or of a later version. */
export const isUnreadable = (error: unknown): error is Error => isDamage(error) || error instanceof LaterFormat;

/** In the place of a recipient whose row cannot be read. */
const UNREADABLE: Recipient = { state: 'not_reached', wave: 1, attempts: [], queuedAt: 0, isUnreadable: true };
