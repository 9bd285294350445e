import pLimit from 'p-limit';

import { DamagedRow, isDamage, LaterFormat, type RowKeys, WriteConflict } from '../../storage/errors.ts';
import { ANY_VERSION, type RowWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { AttemptRef } from '../model/call-context.ts';
import { isNotificationId, type NotificationId } from '../model/notification-id.ts';
import type { Destination } from '../model/outcome-events.ts';
import { hashOfNumber } from '../model/phone-number.ts';
import { callsLeft, dayOf } from '../rules/day-limit.ts';
import { KEY_HOLDS_MS, type KeyUse } from '../rules/idempotency.ts';
import type { LineState, OpenCall } from '../rules/lines.ts';
import type { Queued } from '../rules/queue.ts';
import { LONGEST_ATTENTION_MS, needsAttention } from '../state/attention.ts';
import { isStranger } from '../state/foreign-call.ts';
import { isUrgentNotification, type Notification, type NotificationCase } from '../state/notification.ts';
import { isFinal, type Recipient } from '../state/recipient.ts';
import {
  attentionWrites,
  changedRows,
  dueWrites,
  entriesOf,
  insertDue,
  openWrites,
  recipientEntry,
  type RecipientRef,
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
  type DueKey,
  dueKey,
  dueUntil,
  FIRST_DUE,
  idempotencyRowKey,
  indexOf,
  LINE_KEY,
  LINES,
  notificationRange,
  notificationsIn,
  type NotificationsQuery,
  parseAttentionKey,
  parseDueKey,
  parseOpenKey,
} from './keys.ts';
import {
  dayRows,
  type DueProperties,
  dueRows,
  type IdempotencyRow,
  idempotencyRows,
  lineRows,
  notificationRows,
  openRows,
  recipientRows,
} from './rows.ts';

/** What the store is made of. */
export interface NotificationStoreParts {
  readonly table: Table;
  readonly callsPerDay: number;
  /** How long rows are kept, in milliseconds. */
  readonly retentionMs: number;
  /** Where outcomes are published. */
  readonly destinations: readonly Destination[];
  readonly newId: () => string;
  /** Told once of each row that cannot be read: it stays as it is, and stops nothing. */
  readonly tell?: ((row: RowKeys, error: Error) => void) | undefined;
}

/** Part of a list. */
export interface Listed<One> {
  readonly found: readonly One[];
  /** After which the list goes on; undefined: there are no more. */
  readonly next: NotificationId | undefined;
}

/** Something due, with what its entry holds. */
export type Due = DueKey & DueProperties;

/** Somebody who waits to be dialled, as their entry says. */
export interface Waiting extends Queued, RecipientRef {
  /** The entry. */
  readonly rowKey: string;
  /** What a later version has written of them there. */
  readonly more?: readonly unknown[] | undefined;
}

/** An open call as its row says; without an attempt if that cannot be read. */
export interface OpenRow extends OpenCall {
  readonly rowKey: string;
  readonly attempt?: AttemptRef | undefined;
  readonly attemptId?: string | undefined;
}

/** What is known of the lines, and the open calls, as they were read together. */
export interface StoredLines {
  readonly line: LineState;
  readonly open: readonly OpenRow[];
  /** Versions by row key. Writes that are made from a snapshot bring theirs up to date. */
  readonly etags: Map<string, string>;
}

/** What decides who is next, as it was read together. */
export interface Snapshot extends StoredLines {
  /** How many of the day's calls are spoken for; undefined: that cannot be read, and is not counted. */
  used: number | undefined;
  readonly day: string;
  readonly queue: readonly Waiting[];
  /** All that is due, those who wait included. */
  readonly due: readonly Due[];
}

/** What a commit changes beside a notification. */
export interface Beside {
  /** What is known of the lines from now on: only if nobody has claimed, refused or made way since they were read. */
  readonly line?: LineState | undefined;
  /** What was read of the lines, if not a snapshot. */
  readonly lines?: StoredLines | undefined;
  /** From which a claim was decided. */
  readonly snapshot?: Snapshot | undefined;
  /** Who is claimed. */
  readonly who?: Waiting | undefined;
  /** The row of an open call whose number is taken over, and the notification to which that call belongs, before and after. */
  readonly takesOver?: OpenRow | undefined;
  readonly earlier?: { readonly known: StoredCase; readonly next: NotificationCase } | undefined;
}

// A callee hears silence meanwhile.
const IN_A_CALL = { deadlineMs: 1_500, tries: 1 } as const;
// Who is dialled again soon is seen a little before.
const AHEAD_MS = 2_500;
const MOST_TOLD = 1_000;
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
  readonly #told = new Set<string>();

  constructor(parts: NotificationStoreParts) {
    this.#table = parts.table;
    this.#parts = parts;
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
      ...this.#insertWrites(known, now),
      ...this.#publishWrites(undefined, known, now),
      ...this.#countWrites(snapshot, counted, now),
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
    const earlier = this.#readable([row], () => idempotencyRows.parse(row));
    return earlier !== undefined && now - earlier.createdAt < KEY_HOLDS_MS
      ? { earlier, etag: row.etag }
      : { etag: row.etag };
  }

  /** A notification with its recipients; undefined if there is none. @throws {DamagedRow} and LaterFormat if its own row cannot be read, which is told */
  async load(id: NotificationId): Promise<StoredCase | undefined> {
    const rows = await this.#table.all(CALLS, notificationRange(id), { ...IN_A_CALL, isAnyFormat: true });
    return rows.length === 0 ? undefined : this.#telling(rows, () => this.#caseOf(rows));
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
      const known = this.#readable(rows, () => this.#caseOf(rows));
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
      return stored && this.#readable(stored, () => this.#caseOf(stored));
    });
    return found.flatMap((known) => (known !== undefined && needsAttention(known, now) ? [known] : []));
  }

  /**
   * Inserts a call of which this service knew nothing.
   *
   * @throws {WriteConflict} if another writer was first
   */
  async insertStranger(known: NotificationCase, now: number): Promise<StoredCase> {
    const etags = await this.#table.transact(CALLS, this.#insertWrites(known, now), IN_A_CALL);
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
      ...(snapshot === undefined ? [] : this.#countWrites(snapshot, counted, now)),
      ...(snapshot === undefined || who === undefined ? [] : entryWrites(snapshot, who)),
      ...openWrites(known, next, takenOver).filter((write) => isThere(write, beside.lines)),
      ...attentionWrites(known, next),
      ...lineWrites(beside),
      ...dueWrites(known, next, who?.rowKey),
      ...(isEarlierOwn ? [] : replacing(earlier.known, changedRows(earlier.known, earlier.next))),
      ...this.#publishWrites(known, next, now),
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
      if (key === undefined) this.#tell(row, new DamagedRow(CALLS, row.rowKey, 'it is of no kind that is known'));
      return key === undefined ? [] : [{ ...this.#readable([row], () => dueRows.parse(row)), ...key }];
    });
    const dayRow = rows.find(({ rowKey }) => rowKey === dayRowKey(day));
    const used = dayRow === undefined ? 0 : this.#readable([dayRow], () => dayRows.parse(dayRow))?.calls;
    const queue = due.flatMap(waitingIn);
    return { ...this.#linesOf(rows), day, used, queue, due: due.filter(({ at }) => at <= now) };
  }

  /** What is known of the lines now, and the open calls. */
  async lines(): Promise<StoredLines> {
    return this.#linesOf(await this.#table.all(CALLS, LINES, { ...IN_A_CALL, isAnyFormat: true }));
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

  /** Moves an entry about outcomes that could not be published. */
  async publishAgain(due: Due & { readonly kind: 'publish' }, at: number): Promise<void> {
    const { at: dueAt, rowKey, kind, notificationId, batch, ...properties } = due;
    const key = dueKey(at, { kind, notificationId, batch });
    await this.#table.transact(CALLS, [deleting(rowKey), insertDue(key, { firstAt: dueAt, ...properties })]);
  }

  /** Deletes the rows of what has expired, also those that cannot be read. Safe to stop at any point: the entry goes last. */
  async deleteExpired(due: Due): Promise<void> {
    if (due.kind === 'expired_day') await this.#unlessGone([dayRowKey(due.day), due.rowKey]);
    if (due.kind !== 'expired_notification') return;
    const range = notificationRange(due.notificationId);
    const rows = await this.#table.all(CALLS, range, { isAnyFormat: true });
    const stored = rows.length === 0 ? undefined : this.#readable(rows, () => this.#caseOf(rows));
    if (stored !== undefined) {
      const { keyHash } = stored.notification;
      const keyRow =
        keyHash === undefined
          ? undefined
          : await this.#table.get(CALLS, idempotencyRowKey(keyHash), { isAnyFormat: true });
      const use = keyRow && this.#readable([keyRow], () => idempotencyRows.parse(keyRow));
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

  /** What can be read of rows; undefined, and told once, if that is nothing. */
  #readable<Value>(rows: readonly StoredRow[], read: () => Value): Value | undefined {
    try {
      return this.#telling(rows, read);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return undefined;
    }
  }

  /** What can be read of rows. @throws {DamagedRow} and LaterFormat if that is nothing, which is told once */
  #telling<Value>([row]: readonly StoredRow[], read: () => Value): Value | undefined {
    if (row === undefined) return undefined;
    try {
      this.#table.checkFormat(row);
      return read();
    } catch (error) {
      if (isUnreadable(error)) this.#tell(row, error);
      throw error;
    }
  }

  #tell(row: StoredRow, error: Error): void {
    if (this.#told.has(row.rowKey) || this.#told.size >= MOST_TOLD) return;
    this.#told.add(row.rowKey);
    this.#parts.tell?.(row, error);
  }

  /** The rows of one notification. Recipients are known by the index of their key: one that cannot be read stays in its place. */
  #caseOf(rows: readonly StoredRow[]): StoredCase | undefined {
    const own = rows.find(({ rowKey }) => indexOf(rowKey) === undefined);
    if (own === undefined) return undefined;
    this.#table.checkFormat(own);
    const notification: Notification = notificationRows.parse(own);
    const byIndex = new Map(rows.map((row) => [indexOf(row.rowKey), row]));
    const count = Math.max(-1, ...[...byIndex.keys()].map((index = -1) => index)) + 1;
    const inPlace = Array.from({ length: count }, (_, index) => byIndex.get(index));
    const recipients = inPlace.map(
      (row) => (row && this.#readable([row], () => recipientRows.parse(row))) ?? UNREADABLE,
    );
    return { notification, recipients, etags: [own.etag, ...inPlace.map((row) => row?.etag ?? '')] };
  }

  #linesOf(rows: readonly StoredRow[]): StoredLines {
    const lineRow = rows.find(({ rowKey }) => rowKey === LINE_KEY);
    const line = lineRow && this.#readable([lineRow], () => lineRows.parse(lineRow));
    const open = rows.flatMap((row): readonly OpenRow[] => {
      const { rowKey } = row;
      const number = parseOpenKey(rowKey);
      if (number === undefined) return [];
      const call = this.#readable([row], () => openRows.parse(row));
      // It holds back nobody for long: whoever is next to the number takes it over.
      if (call === undefined) return [{ rowKey, number, isUrgent: false, sentAt: 0, lookAt: 0 }];
      const { notificationId, index, attemptId, claimedAt: sentAt, ...rest } = call;
      return [{ rowKey, number, ...rest, sentAt, attemptId, attempt: { notificationId, index, attemptId } }];
    });
    return { line: line?.lines ?? {}, open, etags: new Map(rows.map(({ rowKey, etag }) => [rowKey, etag])) };
  }

  /** All rows of a new notification, and when they expire. */
  #insertWrites(known: NotificationCase, now: number): readonly RowWrite[] {
    const about = { kind: 'expired_notification', notificationId: known.notification.id } as const;
    const expiry = dueKey(now + this.#parts.retentionMs, about);
    return [
      ...rowsOf(known).map(({ rowKey, properties }): RowWrite => ({
        kind: 'insert',
        rowKey,
        properties: properties(),
      })),
      ...dueWrites(undefined, known),
      ...attentionWrites(undefined, known),
      ...openWrites(undefined, known),
      insertDue(expiry),
    ];
  }

  #publishWrites(known: NotificationCase | undefined, next: NotificationCase, now: number): readonly RowWrite[] {
    const { id, completedAt, stoppedAt, acknowledgedAt } = next.notification;
    if (this.#parts.destinations.length === 0 || isStranger(id)) return [];
    const indexes = next.recipients.flatMap((recipient, index) =>
      isFinal(recipient) && recipient.state !== known?.recipients[index]?.state ? index : [],
    );
    const isOver =
      (completedAt !== undefined && known?.notification.completedAt === undefined) ||
      (stoppedAt !== undefined && known?.notification.stoppedAt === undefined);
    const isAcknowledged = acknowledgedAt !== undefined && known?.notification.acknowledgedAt === undefined;
    if (indexes.length === 0 && !isOver && !isAcknowledged) return [];
    return this.#parts.destinations.map((to) => {
      const batch = this.#parts.newId().slice(0, 8);
      const key = dueKey(now, { kind: 'publish', notificationId: id, batch });
      return insertDue(key, {
        indexes: indexes.join(),
        ...(isOver && { isCompleted: true }),
        ...(isAcknowledged && { isAcknowledged }),
        // Entries of versions before name no destination.
        ...(to !== 'topic' && { to }),
      });
    });
  }

  #countWrites({ used, day, etags }: Snapshot, calls: number, now: number): readonly RowWrite[] {
    if (calls === 0 || used === undefined) return [];
    const rowKey = dayRowKey(day);
    const etag = etags.get(rowKey);
    const write = writeOf(rowKey, etag, dayRows.propertiesOf({ calls: used + calls }));
    const expiry = dueKey(now + this.#parts.retentionMs, { kind: 'expired_day', day });
    return etag === undefined ? [write, insertDue(expiry)] : [write];
  }
}

/** Whether an error says that a row cannot be read: it is damaged, or of a later version. */
export const isUnreadable = (error: unknown): error is Error => isDamage(error) || error instanceof LaterFormat;

/** In the place of a recipient whose row cannot be read. */
const UNREADABLE: Recipient = { state: 'not_reached', wave: 1, attempts: [], queuedAt: 0, isUnreadable: true };

/** The row of an open call may be gone, if it was taken for left over. */
const isThere = ({ kind, rowKey }: RowWrite, lines: StoredLines | undefined): boolean =>
  (kind !== 'delete' && kind !== 'merge') || lines?.etags.has(rowKey) !== false;

const idOf = (row: StoredRow | undefined): NotificationId | undefined => {
  const [, id = ''] = row?.rowKey.split('|') ?? [];
  return isNotificationId(id) ? id : undefined;
};

const deleting = (rowKey: string): RowWrite => ({ kind: 'delete', rowKey });

/** Who waits by an entry. One that names nobody's number is of a version before, or cannot be read. */
export const waitingIn = (due: Due): readonly Waiting[] => {
  if (due.kind !== 'dial' && due.kind !== 'dial_urgent') return [];
  const { notificationId, rowKey, at, index, people, heldBackUntil = 0 } = due;
  const { number, queuedAt = at, refusals, hadNoLine } = due;
  const isUrgent = due.kind === 'dial_urgent';
  const one = (position: number, dueAt: number, hash: string, more?: readonly unknown[]): Waiting => {
    const who = { notificationId, index: position, rowKey, number: hash, position };
    return { ...who, isUrgent, dueAt, queuedAt, refusals, hadNoLine, more };
  };
  if (index === undefined) {
    // Since they were asked for, whatever the clock of the instance that took the request says.
    return (people ?? []).map(([position, hash, ...more]) => one(position, heldBackUntil, hash, more));
  }
  return number === undefined ? [] : [one(index, at, number)];
};

/** Who waits of a notification. */
export const queueOf = (known: NotificationCase): readonly Waiting[] =>
  known.recipients.flatMap((recipient, index): readonly Waiting[] => {
    const { state, dueAt, queuedAt, refusals, hadNoLine, reason } = recipient;
    const number = hashOfNumber(recipient.number);
    const rowKey = recipientEntry(known.notification, index, recipient);
    if (state !== 'waiting' || dueAt === undefined || number === undefined || rowKey === undefined) return [];
    const isUrgent = isUrgentNotification(known.notification);
    const { id: notificationId } = known.notification;
    const own = { notificationId, index, rowKey, number, position: index };
    return [{ ...own, isUrgent, queuedAt, dueAt, refusals, hadNoLine, reason }];
  });

/** Takes somebody out of an entry. */
const entryWrites = ({ queue, etags }: Snapshot, { rowKey, index }: Waiting): readonly RowWrite[] => {
  const people = queue
    .filter((one) => one.rowKey === rowKey && one.index !== index)
    .map(({ index: at, number, more = [] }): [number, string, ...unknown[]] => {
      const person: [number, string, ...unknown[]] = [at, number];
      person.push(...more);
      return person;
    });
  if (people.length === 0) return [deleting(rowKey)];
  return [{ kind: 'merge', rowKey, etag: etags.get(rowKey) ?? '', properties: dueRows.propertiesOf({ people }) }];
};

/** Writes what is known of the lines, unless somebody else has since they were read: two refusals at once must not know of each other's call. */
const lineWrites = ({ line, snapshot, lines = snapshot }: Beside): readonly RowWrite[] =>
  line === undefined
    ? []
    : [writeOf(LINE_KEY, lines?.etags.get(LINE_KEY), lineRows.propertiesOf({ lines: { ...line } }))];
