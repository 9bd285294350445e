import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { type NewProperties, type RowWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import { callsLeft, dayOf } from '../rules/day-limit.ts';
import { KEY_HOLDS_MS, type KeyUse } from '../rules/idempotency.ts';
import {
  isUrgentNotification,
  type Notification,
  type NotificationCase,
  notificationDueAt,
} from '../state/notification.ts';
import type { NotificationId } from '../model/notification-id.ts';
import { isFinal, type Recipient } from '../state/recipient.ts';
import { isStranger } from '../state/foreign-call.ts';
import {
  ALL_NOTIFICATIONS,
  CALLS,
  dayRowKey,
  type DueKey,
  dueKey,
  dueUntil,
  idempotencyRowKey,
  notificationKey,
  notificationRange,
  parseDueKey,
  recipientKey,
} from './keys.ts';
import {
  dayRows,
  type DueProperties,
  dueRows,
  type IdempotencyRow,
  idempotencyRows,
  notificationRows,
  recipientRows,
} from './rows.ts';

/** What the store is made of. */
export interface NotificationStoreParts {
  readonly table: Table;
  readonly callsPerDay: number;
  /** How long rows are kept, in milliseconds. */
  readonly retentionMs: number;
  /** Whether outcomes are published. */
  readonly isPublishing: boolean;
  readonly newId: () => string;
}

/** A notification as it was read or written. */
export interface StoredCase extends NotificationCase {
  /** The versions of its rows: its own, and one for each recipient. */
  readonly etags: readonly string[];
}

/** What became of the wish to create a notification. */
export type Created =
  | { readonly kind: 'created'; readonly stored: StoredCase }
  /** Its key was used in the last 24 hours. */
  | { readonly kind: 'key used'; readonly earlier: IdempotencyRow }
  /** Our own policy refuses all recipients. */
  | { readonly kind: 'refused'; readonly known: NotificationCase };

/** Something due, with what its entry holds. */
export type Due = DueKey & DueProperties;

/** Those entries that stand for a call of ours that may be ringing or open. */
export const openCallsOf = (due: readonly Due[]): readonly (Due & { readonly kind: 'look' })[] =>
  due.filter(
    (entry): entry is Due & { readonly kind: 'look' } => entry.kind === 'look' && !isStranger(entry.notificationId),
  );

// A callee hears silence meanwhile.
const IN_A_CALL = { deadlineMs: 1_500, tries: 1 } as const;
const MOST_WRITES = 100;

/**
 * Notifications, their recipients and what is due, in one partition: what follows from one event changes in one transaction, and only if
 * nobody else has changed these rows since they were read. So of all instances one dials, speaks and hangs up, and nobody is forgotten.
 *
 * All methods throw {@link StorageTrouble} if the table cannot be used now.
 */
export class NotificationStore {
  readonly #table: Table;
  readonly #parts: NotificationStoreParts;

  constructor(parts: NotificationStoreParts) {
    this.#table = parts.table;
    this.#parts = parts;
  }

  /**
   * Inserts a notification with its key and the calls that it takes of the day's, in one transaction. Asking again after an answer was
   * lost creates it once.
   *
   * @param make from how many of the day's calls are left
   * @throws {WriteConflict} if another writer was first: ask again
   */
  async create(
    id: NotificationId,
    make: (left: number) => NotificationCase,
    isUrgent: boolean,
    key: KeyUse | undefined,
    now: number,
  ): Promise<Created> {
    try {
      // Most keys are new: that is cheaper to find out by inserting.
      return await this.#create(id, make, isUrgent, key, undefined, now);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      // An earlier try of this very request may have been carried out, and its answer lost.
      const stored = await this.load(id);
      if (stored !== undefined) return { kind: 'created', stored };
      const keyRow = key && (await this.#readKey(key));
      if (keyRow === undefined) throw error;
      return holds(keyRow, now) ?? this.#create(id, make, isUrgent, key, keyRow, now);
    }
  }

  async #create(
    id: NotificationId,
    make: (left: number) => NotificationCase,
    isUrgent: boolean,
    key: KeyUse | undefined,
    keyRow: StoredRow | undefined,
    now: number,
  ): Promise<Created> {
    const day = await this.#readDay(now);
    const known = make(callsLeft(day.used, this.#parts.callsPerDay, isUrgent));
    const { recipients } = known;
    if (recipients.every(isFinal)) {
      const used = key && (await this.#readKey(key));
      return (used && holds(used, now)) ?? { kind: 'refused', known };
    }
    const writes: RowWrite[] = [
      ...this.#insertWrites(known, now),
      ...this.#publishWrites(undefined, known, now),
      ...this.#countWrites(day, recipients.filter(({ isCounted }) => isCounted === true).length, now),
    ];
    if (key !== undefined) {
      const properties = idempotencyRows.propertiesOf({
        notificationId: id,
        fingerprint: key.fingerprint,
        createdAt: now,
      });
      writes.push(writeOf(idempotencyRowKey(key.keyHash), keyRow?.etag, properties, 'replace'));
    }
    const etags = await this.#table.transact(CALLS, writes);
    return { kind: 'created', stored: { ...known, etags: etags.slice(0, 1 + recipients.length) } };
  }

  /** A notification with its recipients; undefined if there is none. */
  async load(id: NotificationId): Promise<StoredCase | undefined> {
    return casesOf(await this.#table.all(CALLS, notificationRange(id), IN_A_CALL))[0];
  }

  /** The newest notifications, the newest first. */
  async newest(most: number): Promise<readonly NotificationCase[]> {
    // Each has at most 50 recipients; most have few. One row more tells that the last one is whole.
    for (const mostRows of [most * 6, most * 51 + 1]) {
      const rows: StoredRow[] = [];
      for await (const page of this.#table.pages(CALLS, ALL_NOTIFICATIONS, { most: Math.min(1_000, mostRows) })) {
        rows.push(...page);
        if (rows.length >= mostRows) break;
      }
      const found = casesOf(rows);
      // The last one may be cut off.
      if (rows.length < mostRows || found.length > most) return found.slice(0, most);
    }
    return [];
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
   * Writes what has changed, with its entries among what is due, in one transaction.
   *
   * @returns what is stored now; `unchanged` if nothing had to be written, `no calls left` if a call may not be counted any more
   * @throws {WriteConflict} if another writer was first
   */
  async commit(
    known: StoredCase,
    next: NotificationCase,
    now: number,
  ): Promise<StoredCase | 'unchanged' | 'no calls left'> {
    const before = rowsOf(known);
    const changed = rowsOf(next).flatMap((row, at) => (isSame(before[at], row) ? [] : [{ ...row, at }]));
    if (changed.length === 0) return 'unchanged';
    const rows = changed.map(({ rowKey, at, properties }): RowWrite => ({
      kind: 'replace',
      rowKey,
      etag: known.etags[at] ?? '',
      properties: properties(),
    }));
    const counted = next.recipients.filter(
      ({ isCounted }, index) => isCounted === true && known.recipients[index]?.isCounted !== true,
    ).length;
    const counts: RowWrite[] = [];
    if (counted > 0) {
      const day = await this.#readDay(now);
      const left = callsLeft(day.used, this.#parts.callsPerDay, isUrgentNotification(next.notification));
      if (left < counted) return 'no calls left';
      counts.push(...this.#countWrites(day, counted, now));
    }
    const writes = [...rows, ...counts, ...this.#dueWrites(known, next), ...this.#publishWrites(known, next, now)];
    const written = await this.#table.transact(CALLS, withinLimit(writes), IN_A_CALL);
    const etags = [...known.etags];
    changed.forEach(({ at }, index) => {
      etags[at] = written[index] ?? '';
    });
    return { ...next, etags };
  }

  /** What is due until a time, in the order of its time. */
  async due(until: number): Promise<readonly Due[]> {
    const rows = await this.#table.all(CALLS, dueUntil(until), { tries: 2 });
    return rows.flatMap((row) => {
      const key = parseDueKey(row.rowKey);
      return key === undefined ? [] : [{ ...key, ...dueRows.parse(row) }];
    });
  }

  /** Whether an entry is still what it says: the others are left over. */
  isCurrent(due: Due, { notification, recipients }: NotificationCase): boolean {
    if (!('index' in due)) return due.rowKey === notificationEntry(notification);
    const recipient = recipients[due.index];
    return recipient !== undefined && due.rowKey === recipientEntry(notification, due.index, recipient);
  }

  /** Drops an entry that nothing needs. */
  async drop({ rowKey }: Pick<Due, 'rowKey'>): Promise<void> {
    await this.#unlessGone([rowKey]);
  }

  /**
   * Drops an entry that a notification does not need. Another instance may have given it an entry of the same name since it was read, and
   * a deletion has no version: so it is deleted together with a row of that version.
   */
  async dropLeftOver(due: Due, stored: StoredCase): Promise<void> {
    const at = 'index' in due && due.index < stored.recipients.length ? 1 + due.index : 0;
    const rowKey = rowsOf(stored)[at]?.rowKey ?? '';
    const kept: RowWrite = { kind: 'merge', rowKey, etag: stored.etags[at] ?? '', properties: {} };
    try {
      await this.#table.transact(CALLS, [kept, { kind: 'delete', rowKey: due.rowKey }]);
    } catch (error) {
      // It is found again if it is still there.
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  /** Moves an entry about outcomes that could not be published. */
  async publishAgain(due: Due & { readonly kind: 'publish' }, at: number): Promise<void> {
    const { notificationId, batch, indexes, isCompleted, firstAt = due.at } = due;
    const key = dueKey(at, { kind: 'publish', notificationId, batch });
    await this.#table.transact(CALLS, [
      { kind: 'delete', rowKey: due.rowKey },
      insertDue(key, { indexes, isCompleted, firstAt }),
    ]);
  }

  /** Deletes the rows of what has expired. Safe to stop at any point: the entry goes last. */
  async deleteExpired(due: Due): Promise<void> {
    if (due.kind === 'expired_day') await this.#unlessGone([dayRowKey(due.day), due.rowKey]);
    if (due.kind !== 'expired_notification') return;
    const stored = await this.load(due.notificationId);
    if (stored !== undefined) {
      const { keyHash } = stored.notification;
      const keyRow = keyHash === undefined ? undefined : await this.#table.get(CALLS, idempotencyRowKey(keyHash));
      // The key may belong to a later notification by now.
      if (keyRow !== undefined && idempotencyRows.parse(keyRow).notificationId === due.notificationId) {
        await this.#unlessGone([keyRow.rowKey]);
      }
      for (const rowKey of entriesOf(stored).keys()) await this.#unlessGone([rowKey]);
      await this.#unlessGone(rowsOf(stored).map(({ rowKey }) => rowKey));
    }
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
      ...this.#dueWrites(undefined, known),
      insertDue(expiry),
    ];
  }

  /** Moves the entries of what has changed; who is final may leave one behind, which is dropped when it is found. */
  #dueWrites(known: NotificationCase | undefined, next: NotificationCase): readonly RowWrite[] {
    const before = known === undefined ? new Map<string, DueProperties>() : entriesOf(known);
    const after = entriesOf(next);
    return [
      ...[...after].flatMap(([rowKey, properties]) => (before.has(rowKey) ? [] : [insertDue(rowKey, properties)])),
      ...[...before.keys()].flatMap((rowKey) => (after.has(rowKey) ? [] : [{ kind: 'delete', rowKey } as const])),
    ];
  }

  #publishWrites(known: NotificationCase | undefined, next: NotificationCase, now: number): readonly RowWrite[] {
    const { id, completedAt, stoppedAt } = next.notification;
    if (!this.#parts.isPublishing || isStranger(id)) return [];
    const indexes = next.recipients.flatMap((recipient, index) =>
      isFinal(recipient) && recipient.state !== known?.recipients[index]?.state ? index : [],
    );
    const isOver =
      (completedAt !== undefined && known?.notification.completedAt === undefined) ||
      (stoppedAt !== undefined && known?.notification.stoppedAt === undefined);
    if (indexes.length === 0 && !isOver) return [];
    const batch = this.#parts.newId().slice(0, 8);
    const key = dueKey(now, { kind: 'publish', notificationId: id, batch });
    return [insertDue(key, { indexes: indexes.join(), ...(isOver ? { isCompleted: true } : {}) })];
  }

  async #readKey({ keyHash }: KeyUse): Promise<StoredRow | undefined> {
    return this.#table.get(CALLS, idempotencyRowKey(keyHash), IN_A_CALL);
  }

  async #readDay(now: number): Promise<{ readonly used: number; readonly row: StoredRow | undefined }> {
    const row = await this.#table.get(CALLS, dayRowKey(dayOf(now)), IN_A_CALL);
    return { row, used: row === undefined ? 0 : dayRows.parse(row).calls };
  }

  #countWrites(
    { used, row }: { readonly used: number; readonly row: StoredRow | undefined },
    calls: number,
    now: number,
  ): readonly RowWrite[] {
    if (calls === 0) return [];
    const day = dayOf(now);
    const write = writeOf(dayRowKey(day), row?.etag, dayRows.propertiesOf({ calls: used + calls }), 'replace');
    const expiry = dueKey(now + this.#parts.retentionMs, { kind: 'expired_day', day });
    return row === undefined ? [write, insertDue(expiry)] : [write];
  }
}

const holds = (keyRow: StoredRow, now: number): (Created & { readonly kind: 'key used' }) | undefined => {
  const earlier = idempotencyRows.parse(keyRow);
  return now - earlier.createdAt < KEY_HOLDS_MS ? { kind: 'key used', earlier } : undefined;
};

const insertDue = (rowKey: string, properties: DueProperties = {}): RowWrite => ({
  kind: 'insert',
  rowKey,
  properties: dueRows.propertiesOf(properties),
});

const notificationEntry = (notification: Notification): string | undefined => {
  const at = notificationDueAt(notification);
  return at === undefined ? undefined : dueKey(at, { kind: 'notification', notificationId: notification.id });
};

const recipientEntry = (notification: Notification, index: number, recipient: Recipient): string | undefined => {
  const { dueAt, state, isCovered } = recipient;
  if (dueAt === undefined || isCovered === true) return undefined;
  const dial = isUrgentNotification(notification) ? 'dial_urgent' : 'dial';
  return dueKey(dueAt, { kind: state === 'waiting' ? dial : 'look', notificationId: notification.id, index });
};

/** All that is due of a notification. */
const entriesOf = ({ notification, recipients }: NotificationCase): ReadonlyMap<string, DueProperties> => {
  const entries = new Map<string, DueProperties>();
  const whole = notificationEntry(notification);
  if (whole !== undefined) entries.set(whole, {});
  recipients.forEach((recipient, index) => {
    const entry = recipientEntry(notification, index, recipient);
    if (entry !== undefined) entries.set(entry, { refusedBeside: recipient.refusedBeside });
  });
  return entries;
};

// A stop of 50 has more writes than a transaction takes. What is left out are deletions of entries, which whoever finds them drops.
const withinLimit = (writes: readonly RowWrite[]): readonly RowWrite[] => {
  let excess = writes.length - MOST_WRITES;
  if (excess <= 0) return writes;
  return writes.filter(({ kind }) => kind !== 'delete' || (excess -= 1) < 0);
};

const casesOf = (rows: readonly StoredRow[]): readonly StoredCase[] => {
  const cases: { notification: Notification; recipients: Recipient[]; etags: string[] }[] = [];
  for (const row of rows) {
    if (row.rowKey.split('|').length === 2) {
      cases.push({ notification: notificationRows.parse(row), recipients: [], etags: [row.etag] });
    } else {
      cases.at(-1)?.recipients.push(recipientRows.parse(row));
      cases.at(-1)?.etags.push(row.etag);
    }
  }
  return cases;
};

interface CaseRow {
  readonly rowKey: string;
  readonly holds: Notification | Recipient;
  readonly properties: () => NewProperties;
}

/** The rows of a notification: its own, and one for each recipient. */
const rowsOf = ({ notification, recipients }: NotificationCase): readonly CaseRow[] => [
  {
    rowKey: notificationKey(notification.id),
    holds: notification,
    properties: () => notificationRows.propertiesOf(notification),
  },
  ...recipients.map((recipient, index) => ({
    rowKey: recipientKey(notification.id, index),
    holds: recipient,
    properties: () => recipientRows.propertiesOf(recipient),
  })),
];

/** Whether two are the same when they are stored: what is undefined is not. */
const isSame = (one: CaseRow | undefined, other: CaseRow): boolean =>
  one !== undefined &&
  (one.holds === other.holds || JSON.stringify(one.properties()) === JSON.stringify(other.properties()));

/** Whether the rows that a commit was to change are stored as it would have left them: its answer was lost. */
export const isCommitted = (stored: NotificationCase, before: NotificationCase, next: NotificationCase): boolean => {
  const [rowsBefore, rowsStored] = [rowsOf(before), rowsOf(stored)];
  return rowsOf(next).every((row, at) => isSame(rowsBefore[at], row) || isSame(rowsStored[at], row));
};

/**
 * What is remembered of a notification after a commit: what the commit changed, and of the rest what other commits of this process have
 * changed meanwhile.
 */
export const merged = (remembered: StoredCase, before: StoredCase, stored: StoredCase): StoredCase => {
  if (remembered === before) return stored;
  const newer = (at: number): StoredCase => (stored.etags[at] === before.etags[at] ? remembered : stored);
  return {
    notification: newer(0).notification,
    recipients: stored.recipients.map((own, index) => newer(1 + index).recipients[index] ?? own),
    etags: stored.etags.map((own, at) => newer(at).etags[at] ?? own),
  };
};

/** A step that met another writer is tried again so often. */
const TRIES = 20;
const LONGEST_PAUSE_MS = 400;

/** Reads, decides and writes again until no other writer came in between. @throws {StorageTrouble} after many conflicts */
export const untilCommitted = async <Result>(
  round: () => Promise<Result>,
  { random, sleep }: { readonly random: () => number; readonly sleep: (ms: number) => Promise<void> },
): Promise<Result> => {
  for (let tried = 1; tried <= TRIES; tried += 1) {
    try {
      return await round();
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      await sleep(backoffMs(tried, 20, LONGEST_PAUSE_MS, random));
    }
  }
  throw new StorageTrouble(0, { reason: 'contended' });
};
