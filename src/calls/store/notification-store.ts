import pLimit from 'p-limit';

import { DamagedRow, WriteConflict } from '../../storage/errors.ts';
import { ANY_VERSION, type RowWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { isNotificationId, type NotificationId } from '../model/ids.ts';
import { callsLeft, dayOf } from '../rules/day-limit.ts';
import { KEY_HOLDS_MS, type KeyUse } from '../rules/idempotency.ts';
import type { LineState } from '../rules/lines.ts';
import { LONGEST_ATTENTION_MS, needsAttention } from '../state/attention.ts';
import { isUrgentNotification, type NotificationCase } from '../state/notification.ts';
import {
  attentionWrites,
  changedRows,
  dueWrites,
  entriesOf,
  insertDue,
  openWrites,
  replacing,
  rowsOf,
  type StoredCase,
  withinLimit,
} from './case-rows.ts';
import {
  attentionKey,
  attentionSince,
  CALLS,
  dayRowKey,
  dueKey,
  dueUntil,
  FIRST_DUE,
  idempotencyRowKey,
  LINES,
  notificationRange,
  notificationsIn,
  type NotificationsQuery,
  parseAttentionKey,
  parseDueKey,
} from './keys.ts';
import { isUnreadable, RowReader, type TellOfRow } from './row-reader.ts';
import { dayRows, dueRows, type IdempotencyRow, idempotencyRows } from './rows.ts';
import {
  type Due,
  entryWrites,
  type OpenRow,
  type Snapshot,
  type StoredLines,
  type Waiting,
  waitingIn,
} from './snapshot.ts';
import {
  type Beside,
  countWrites,
  deleting,
  insertWrites,
  isThere,
  lineWrites,
  publishWrites,
  type WrittenWith,
} from './writes.ts';

/** What the store is made of. */
export interface NotificationStoreParts extends WrittenWith {
  readonly table: Table;
  readonly callsPerDay: number;
  /** Told once of each row that cannot be read: it stays as it is, and stops nothing. */
  readonly tell?: TellOfRow | undefined;
}

/** Part of a list. */
export interface Listed<One> {
  readonly found: readonly One[];
  /** After which the list goes on; undefined: there are no more. */
  readonly next: NotificationId | undefined;
}

// A callee hears silence meanwhile.
const IN_A_CALL = { deadlineMs: 1_500, tries: 1 } as const;
// Who is dialled again soon is seen a little before.
const AHEAD_MS = 2_500;
const MOST_ROWS_LISTED = 1_000;
const FEWEST_ROWS_LISTED = 100;
const LOADED_AT_A_TIME = 16;

/**
 * Notifications, their recipients, the open calls and what is due, in one partition: what follows from one event changes in one transaction, and
 * only if nobody else has changed these rows since they were read. So of all instances one dials, speaks and hangs up, and nobody is forgotten.
 *
 * All methods throw StorageTrouble if the table cannot be used now.
 */
export class NotificationStore {
  readonly #table: Table;
  readonly #parts: NotificationStoreParts;
  readonly #reader: RowReader;

  constructor(parts: NotificationStoreParts) {
    this.#table = parts.table;
    this.#parts = parts;
    this.#reader = new RowReader(parts.table, parts.tell);
  }

  /** How many calls are left of the day. */
  callsLeft({ used = 0 }: Snapshot, isUrgent: boolean): number {
    return callsLeft(used, this.#parts.callsPerDay, isUrgent);
  }

  /**
   * Inserts a notification with its key and the calls that it takes of the day's, in one transaction.
   *
   * @param beside a claim of its first one, if that is next
   * @throws {WriteConflict} if another writer was first, or an earlier try was carried out
   */
  async create(
    known: NotificationCase,
    key: (KeyUse & { readonly etag?: string | undefined }) | undefined,
    beside: Beside & { readonly snapshot: Snapshot },
    now: number,
  ): Promise<StoredCase> {
    const { snapshot } = beside;
    const { id } = known.notification;
    const counted = known.recipients.filter(({ isCounted }) => isCounted === true).length;
    const writes: RowWrite[] = [
      ...insertWrites(this.#parts, known, now),
      ...publishWrites(this.#parts, undefined, known, now),
      ...countWrites(this.#parts, snapshot, counted, now),
      ...lineWrites(beside),
    ];
    if (key !== undefined) {
      const use = { notificationId: id, fingerprint: key.fingerprint, createdAt: now };
      writes.push(writeOf(idempotencyRowKey(key.keyHash), key.etag, idempotencyRows.propertiesOf(use), 'replace'));
    }
    const etags = await this.#transact(writes, snapshot);
    return { ...known, etags: etags.slice(0, 1 + known.recipients.length) };
  }

  /** What a key was used for in the last 24 hours, and the version of its row. */
  async readKey(
    { keyHash }: KeyUse,
    now: number,
  ): Promise<{ readonly earlier?: IdempotencyRow; readonly etag?: string | undefined }> {
    const row = await this.#table.get(CALLS, idempotencyRowKey(keyHash), { ...IN_A_CALL, isAnyFormat: true });
    if (row === undefined) return {};
    // One that cannot be read keeps nobody from being called.
    const earlier = this.#reader.readable([row], () => idempotencyRows.parse(row));
    return earlier !== undefined && now - earlier.createdAt < KEY_HOLDS_MS
      ? { earlier, etag: row.etag }
      : { etag: row.etag };
  }

  /** A notification with its recipients; undefined if there is none. @throws {DamagedRow} and LaterFormat if its own row cannot be read, which is told */
  async load(id: NotificationId): Promise<StoredCase | undefined> {
    const rows = await this.#table.all(CALLS, notificationRange(id), { ...IN_A_CALL, isAnyFormat: true });
    return rows.length === 0 ? undefined : this.#reader.telling(rows, () => this.#reader.caseOf(rows));
  }

  /** A notification with its recipients; undefined if there is none that can be read. */
  async loadReadable(id: NotificationId): Promise<StoredCase | undefined> {
    try {
      return await this.load(id);
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  /**
   * Notifications, the newest first, without those that cannot be read. Reads at most a thousand rows.
   *
   * @param isMeant whether one belongs to the list
   * @returns at most `most`, and the last one that was looked at if there may be more
   */
  async list(
    { most, ...query }: NotificationsQuery & { readonly most: number },
    isMeant: (known: NotificationCase) => boolean,
  ): Promise<Listed<NotificationCase>> {
    const found: NotificationCase[] = [];
    let last: NotificationId | undefined;
    let rows: StoredRow[] = [];
    let read = 0;
    const lookAtRows = (): void => {
      const known = this.#reader.readable(rows, () => this.#reader.caseOf(rows));
      if (known !== undefined && isMeant(known)) found.push(known);
      last = idOf(rows[0]);
      rows = [];
    };
    // Most have few people.
    const size = most * 6 <= MOST_ROWS_LISTED / 2 ? Math.max(FEWEST_ROWS_LISTED, most * 6) : MOST_ROWS_LISTED;
    const pages = { most: size, isAnyFormat: true };
    for await (const page of this.#table.pages(CALLS, notificationsIn(query), pages)) {
      for (const row of page) {
        if (rows.length > 0 && idOf(row) !== idOf(rows[0])) {
          lookAtRows();
          if (found.length === most) return { found, next: last };
        }
        rows.push(row);
      }
      read += page.length;
      if (read >= MOST_ROWS_LISTED || (page.length === size && read + size > MOST_ROWS_LISTED))
        return { found, next: last };
    }
    if (rows.length > 0) lookAtRows();
    return { found, next: undefined };
  }

  /** All notifications that need attention, the newest first, however many others there are. */
  async needingAttention(now: number): Promise<readonly NotificationCase[]> {
    const range = attentionSince(now - LONGEST_ATTENTION_MS);
    const rows = await this.#table.all(CALLS, range, { isAnyFormat: true });
    const found = await pLimit(LOADED_AT_A_TIME).map(rows, async ({ rowKey }) => {
      const id = parseAttentionKey(rowKey);
      const stored = id && (await this.#table.all(CALLS, notificationRange(id), { isAnyFormat: true }));
      return stored && this.#reader.readable(stored, () => this.#reader.caseOf(stored));
    });
    return found.flatMap((known) => (known !== undefined && needsAttention(known, now) ? [known] : []));
  }

  /**
   * Inserts a call of which this service knew nothing.
   *
   * @throws {WriteConflict} if another writer was first
   */
  async insertForeignCall(known: NotificationCase, now: number): Promise<StoredCase> {
    const etags = await this.#table.transact(CALLS, insertWrites(this.#parts, known, now), IN_A_CALL);
    return { ...known, etags: etags.slice(0, 1 + known.recipients.length) };
  }

  /**
   * Writes what has changed, with its entries among what is due and its open calls, in one transaction.
   *
   * @returns what is stored now; `unchanged` if nothing had to be written, `no calls left` if a call may not be counted any more
   * @throws {WriteConflict} if another writer was first
   */
  async commit(
    known: StoredCase,
    next: NotificationCase,
    now: number,
    beside: Beside = {},
  ): Promise<StoredCase | 'unchanged' | 'no calls left'> {
    const changed = changedRows(known, next);
    if (changed.length === 0 && beside.line === undefined) return 'unchanged';
    const { snapshot, who, takesOver, earlier } = beside;
    const counted = next.recipients.filter(
      ({ isCounted }, index) => isCounted === true && known.recipients[index]?.isCounted !== true,
    ).length;
    const isUrgent = isUrgentNotification(next.notification);
    if (snapshot !== undefined && this.callsLeft(snapshot, isUrgent) < counted) return 'no calls left';
    const takenOver = takesOver && { rowKey: takesOver.rowKey, etag: snapshot?.etags.get(takesOver.rowKey) ?? '' };
    const isEarlierOwn = takenOver === undefined || earlier === undefined;
    const writes = [
      ...replacing(known, changed),
      ...(snapshot === undefined ? [] : countWrites(this.#parts, snapshot, counted, now)),
      ...(snapshot === undefined || who === undefined ? [] : entryWrites(snapshot, who)),
      ...openWrites(known, next, takenOver).filter((write) => isThere(write, beside.lines)),
      ...attentionWrites(known, next),
      ...lineWrites(beside),
      ...dueWrites(known, next, who?.rowKey),
      ...(isEarlierOwn ? [] : replacing(earlier.known, changedRows(earlier.known, earlier.next))),
      ...publishWrites(this.#parts, known, next, now),
    ];
    const written = await this.#transact(withinLimit(writes), snapshot);
    const etags = [...known.etags];
    changed.forEach(({ at }, index) => {
      etags[at] = written[index] ?? '';
    });
    if (snapshot?.used !== undefined) snapshot.used += counted;
    return { ...next, etags };
  }

  /** Has nobody of a notification dialled for the first time before then, whatever its rows say: claims that were decided before are void. */
  async holdBack(known: NotificationCase, until: number): Promise<void> {
    for (const [rowKey, { people }] of entriesOf(known)) {
      if (people === undefined) continue;
      const properties = dueRows.propertiesOf({ heldBackUntil: until });
      try {
        await this.#transact([{ kind: 'merge', rowKey, etag: ANY_VERSION, properties }]);
      } catch (error) {
        // Everybody has been dialled by now.
        if (!(error instanceof WriteConflict)) throw error;
      }
    }
  }

  /** Writes what is known of the lines. @throws {WriteConflict} if somebody else has written that since it was read */
  async learn(line: LineState, snapshot: Snapshot): Promise<void> {
    await this.#transact(lineWrites({ line, snapshot }), snapshot);
  }

  /** What decides who is next now, and all that is due. */
  async look(now: number): Promise<Snapshot> {
    const day = dayOf(now);
    const rows = await this.#table.all(CALLS, dueUntil(day, now + AHEAD_MS), { tries: 2, isAnyFormat: true });
    const due = rows.flatMap((row): readonly Due[] => {
      if (row.rowKey < FIRST_DUE) return [];
      const key = parseDueKey(row.rowKey);
      // It stays for a version that knows it.
      if (key === undefined)
        this.#reader.tell(row, new DamagedRow(CALLS, row.rowKey, 'it is of no kind that is known'));
      return key === undefined ? [] : [{ ...this.#reader.readable([row], () => dueRows.parse(row)), ...key }];
    });
    const dayRow = rows.find(({ rowKey }) => rowKey === dayRowKey(day));
    const used = dayRow === undefined ? 0 : this.#reader.readable([dayRow], () => dayRows.parse(dayRow))?.calls;
    const queue = due.flatMap(waitingIn);
    return { ...this.#reader.linesOf(rows), day, used, queue, due: due.filter(({ at }) => at <= now) };
  }

  /** What is known of the lines now, and the open calls. */
  async lines(): Promise<StoredLines> {
    return this.#reader.linesOf(await this.#table.all(CALLS, LINES, { ...IN_A_CALL, isAnyFormat: true }));
  }

  /** Drops an entry that nothing needs. */
  async drop({ rowKey }: { readonly rowKey: string }): Promise<void> {
    await this.#unlessGone([rowKey]);
  }

  /**
   * Drops an entry that a notification does not need, or takes somebody out of it. Another instance may have given it an entry of the same name
   * since it was read, and a deletion has no version: so it is written together with a row of that version.
   */
  async dropLeftOver(
    due: { readonly rowKey: string; readonly index?: number | undefined },
    stored: StoredCase,
    snapshot?: Snapshot,
    who?: Waiting,
  ): Promise<void> {
    const at = due.index !== undefined && due.index < stored.recipients.length ? 1 + due.index : 0;
    const rowKey = rowsOf(stored)[at]?.rowKey ?? '';
    const kept: RowWrite = { kind: 'merge', rowKey, etag: stored.etags[at] ?? '', properties: {} };
    const isKept = snapshot === undefined || who === undefined;
    try {
      await this.#transact([kept, ...(isKept ? [deleting(due.rowKey)] : entryWrites(snapshot, who))], snapshot);
    } catch (error) {
      // It is found again if it is still there.
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  /** Deletes the row of an open call that its attempt does not hold any more. @param stored the notification of the attempt */
  async dropOpen({ rowKey, attempt }: OpenRow, stored: StoredCase | undefined): Promise<void> {
    if (stored === undefined || attempt === undefined) await this.drop({ rowKey });
    else await this.dropLeftOver({ rowKey, index: attempt.index }, stored);
  }

  /** Moves an entry about outcomes to another time. @returns it as it is then; undefined if another one has moved or dropped it */
  async moveEntry<Entry extends Due & { readonly kind: 'publish' }>(
    due: Entry,
    at: number,
  ): Promise<Entry | undefined> {
    const { at: dueAt, rowKey, kind, notificationId, batch, ...properties } = due;
    const moved = dueKey(at, { kind, notificationId, batch });
    const firstAt = properties.firstAt ?? dueAt;
    try {
      await this.#table.transact(CALLS, [deleting(rowKey), insertDue(moved, { ...properties, firstAt })]);
    } catch (error) {
      if (error instanceof WriteConflict) return undefined;
      throw error;
    }
    return { ...due, at, rowKey: moved, firstAt };
  }

  /** Deletes the rows of what has expired, also those that cannot be read. Safe to stop at any point: the entry goes last. */
  async deleteExpired(due: Due): Promise<void> {
    if (due.kind === 'expired_day') await this.#unlessGone([dayRowKey(due.day), due.rowKey]);
    if (due.kind !== 'expired_notification') return;
    const range = notificationRange(due.notificationId);
    const rows = await this.#table.all(CALLS, range, { isAnyFormat: true });
    const stored = rows.length === 0 ? undefined : this.#reader.readable(rows, () => this.#reader.caseOf(rows));
    if (stored !== undefined) {
      const { keyHash } = stored.notification;
      const keyRow =
        keyHash === undefined
          ? undefined
          : await this.#table.get(CALLS, idempotencyRowKey(keyHash), { isAnyFormat: true });
      const use = keyRow && this.#reader.readable([keyRow], () => idempotencyRows.parse(keyRow));
      // The key may belong to a later notification by now.
      if (keyRow && use?.notificationId === due.notificationId) await this.#unlessGone([keyRow.rowKey]);
      for (const rowKey of entriesOf(stored).keys()) await this.#unlessGone([rowKey]);
    }
    await this.#unlessGone([attentionKey(due.notificationId)]);
    if (rows.length > 0) await this.#unlessGone(rows.map(({ rowKey }) => rowKey));
    await this.#unlessGone([due.rowKey]);
  }

  async #unlessGone(rowKeys: readonly string[]): Promise<void> {
    try {
      await this.#table.delete(CALLS, rowKeys);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      for (const rowKey of rowKeys.length > 1 ? rowKeys : []) await this.#unlessGone([rowKey]);
    }
  }

  /** Writes, and brings the versions of a snapshot up to date. */
  async #transact(writes: readonly RowWrite[], snapshot?: StoredLines): Promise<readonly string[]> {
    const etags = await this.#table.transact(CALLS, writes, IN_A_CALL);
    writes.forEach(({ rowKey, kind }, index) => {
      if (kind === 'delete') snapshot?.etags.delete(rowKey);
      else snapshot?.etags.set(rowKey, etags[index] ?? '');
    });
    return etags;
  }
}

const idOf = (row: StoredRow | undefined): NotificationId | undefined => {
  const [, id = ''] = row?.rowKey.split('|') ?? [];
  return isNotificationId(id) ? id : undefined;
};
