import { LRUCache } from 'lru-cache';
import type { NotificationId } from '../model/ids.ts';
import { KEY_HOLDS_MS, type KeyUse } from '../rules/idempotency.ts';
import type { Lines } from '../state/lines.ts';
import { LONGEST_ATTENTION_MS, needsAttention, type NotificationCase } from '../state/notification.ts';
import {
  CALLS,
  changedProperties,
  type IdempotencyRow,
  idempotencyRowKey,
  idOf,
  keyProperties,
  LINES_KEY,
  linesAndNotifications,
  linesProperties,
  type Mark,
  notificationKey,
  notificationsBefore,
  notificationsIn,
  type NotificationsQuery,
  parseCase,
  parseKey,
  parseLines,
} from './rows.ts';
import { DamagedRow, LaterFormat, type RowKeys, WriteConflict } from '../../storage/errors.ts';
import { type RowWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';

/** A notification as it is stored. */
export interface StoredCase extends NotificationCase {
  readonly etag: string;
  /** Names the write that made this version. */
  readonly commit: string;
}

/** What all instances share, as it is stored. */
export interface StoredLines {
  readonly lines: Lines;
  /** Undefined: there is no such row yet. */
  readonly etag: string | undefined;
}

/** The lines and the live notifications, as they were read together. */
export interface Snapshot extends StoredLines {
  readonly live: readonly StoredCase[];
}

/** A notification after a write, and the version of what all instances share if that was written with it. */
export interface Written {
  readonly stored: StoredCase;
  readonly linesEtag: string | undefined;
}

/** Notifications of a list. */
export interface Listed<Item> {
  readonly found: readonly Item[];
  /** The last one that was looked at if there may be more. */
  readonly next: NotificationId | undefined;
}

/** A callee hears silence meanwhile. */
const IN_A_CALL = { deadlineMs: 1_500, tries: 1 } as const;
/** The longest deadline, and the last call that it allows. */
const LIVE_FOR_MS = 25 * 3_600_000;
/** A notification is told for a day after its end. */
const TOLD_FOR_MS = LIVE_FOR_MS + 24 * 3_600_000;
/** What this process remembers: the notifications of some hours. */
const MOST_REMEMBERED = 500;
/** A question for a list reads at most so many rows, in such pages. */
const MOST_LISTED = 1_000;
const LISTED_AT_A_TIME = 100;
/** Rows that expired are deleted in such pages. */
const DELETED_AT_A_TIME = 50;

const YES = { from: 'yes', to: 'yes' } as const;
const NO = { from: 'no', to: 'no' } as const;

/**
 * The rows about calls: one a notification, and one for what all instances share. Each write requires the version that was read, so of all
 * instances one dials, speaks and hangs up.
 *
 * All methods throw StorageTrouble if the table cannot be used now.
 */
export class NotificationStore {
  readonly #table: Table;
  readonly #tell: (row: RowKeys, error: Error) => void;
  readonly #newId: () => string;
  /** What this process read or wrote last. It may be outdated: then a commit meets a conflict. */
  readonly #remembered = new LRUCache<NotificationId, StoredCase>({ max: MOST_REMEMBERED });
  readonly #told = new LRUCache<string, true>({ max: MOST_REMEMBERED });

  /** @param tell called once a process for each row that cannot be read */
  constructor(table: Table, newId: () => string, tell: (row: RowKeys, error: Error) => void) {
    this.#table = table;
    this.#newId = newId;
    this.#tell = tell;
  }

  /** What this process read or wrote last; undefined if it remembers nothing. */
  recall(id: NotificationId): StoredCase | undefined {
    return this.#remembered.get(id);
  }

  /** What this process remembers is outdated. */
  forget(id: NotificationId): void {
    this.#remembered.delete(id);
  }

  /** A notification; undefined if there is none. @throws {DamagedRow | LaterFormat} if its row cannot be read, which is told */
  async load(id: NotificationId): Promise<StoredCase | undefined> {
    const row = await this.#table.get(CALLS, notificationKey(id), { ...IN_A_CALL, isAnyFormat: true });
    return row && this.#caseOf(row, id);
  }

  /** What all instances share, and every live notification. @param isWhole of all that is kept, not of the last 25 hours */
  async look(now: number, isWhole = false): Promise<Snapshot> {
    const rows = await this.#marked('live', YES, isWhole ? undefined : now - LIVE_FOR_MS);
    const shared = rows.find(({ rowKey }) => rowKey === LINES_KEY);
    const live = rows.flatMap((row) => (row === shared ? [] : (this.#readable(row) ?? [])));
    return { ...this.#linesOf(shared), live };
  }

  /** What all instances share. */
  async lines(): Promise<StoredLines> {
    return this.#linesOf(await this.#table.get(CALLS, LINES_KEY, { ...IN_A_CALL, isAnyFormat: true }));
  }

  /** Notifications of which others must still be told. @param isWhole of all that is kept, not of the last two days */
  async untold(now: number, isWhole = false): Promise<readonly StoredCase[]> {
    const rows = await this.#marked('told', NO, isWhole ? undefined : now - TOLD_FOR_MS);
    return rows.flatMap((row) => this.#readable(row) ?? []);
  }

  /** All notifications that need attention, the newest first, however many others there are. */
  async needingAttention(now: number): Promise<readonly StoredCase[]> {
    const rows = await this.#marked('short', YES, now - LONGEST_ATTENTION_MS);
    return rows.flatMap((row) => this.#readable(row) ?? []).filter((known) => needsAttention(known, now));
  }

  async #marked(
    property: Mark,
    between: { readonly from: string; readonly to: string },
    since: number | undefined,
  ): Promise<readonly StoredRow[]> {
    const query = { where: { property, ...between }, tries: 2, isAnyFormat: true };
    return this.#table.all(CALLS, linesAndNotifications(since), query);
  }

  /**
   * Notifications, the newest first, without those that cannot be read.
   *
   * @param isMeant whether one belongs to the list
   * @returns at most `most`
   */
  async list(
    { most, ...query }: NotificationsQuery & { readonly most: number },
    isMeant: (known: NotificationCase) => boolean,
  ): Promise<Listed<StoredCase>> {
    const found: StoredCase[] = [];
    let read = 0;
    let last: NotificationId | undefined;
    const pages = this.#table.pages(CALLS, notificationsIn(query), { most: LISTED_AT_A_TIME, isAnyFormat: true });
    for await (const page of pages) {
      for (const row of page) {
        if (found.length === most || read === MOST_LISTED) return { found, next: last };
        read += 1;
        last = idOf(row.rowKey) ?? last;
        const known = this.#readable(row);
        if (known !== undefined && isMeant(known)) found.push(known);
      }
    }
    return { found, next: undefined };
  }

  /** What a key was used for in the last 24 hours, and the version of its row. */
  async readKey(
    { keyHash }: KeyUse,
    now: number,
  ): Promise<{ readonly earlier?: IdempotencyRow | undefined; readonly etag?: string | undefined }> {
    const row = await this.#table.get(CALLS, idempotencyRowKey(keyHash), { ...IN_A_CALL, isAnyFormat: true });
    if (row === undefined) return {};
    // A row that cannot be read keeps nobody from being called.
    const earlier = this.#unlessUnreadable(row, () => parseKey(row));
    const isHeld = earlier !== undefined && now - earlier.createdAt < KEY_HOLDS_MS;
    return { earlier: isHeld ? earlier : undefined, etag: row.etag };
  }

  /**
   * Inserts a notification, with its key and what changes for all instances, in one transaction.
   *
   * @returns what is stored then, and the version of what all instances share if that was written
   * @throws {WriteConflict} if another writer was first, or an earlier try was carried out
   */
  async create(
    known: NotificationCase,
    key: (KeyUse & { readonly etag?: string | undefined }) | undefined,
    shared: StoredLines | undefined,
    now: number,
  ): Promise<Written> {
    const commit = this.#newId();
    const { id } = known.notification;
    const rowKey = notificationKey(id);
    const writes: RowWrite[] = [{ kind: 'insert', rowKey, properties: changedProperties(undefined, known, commit) }];
    if (key !== undefined) {
      const use = { notificationId: id, fingerprint: key.fingerprint, createdAt: now };
      writes.push(writeOf(idempotencyRowKey(key.keyHash), key.etag, keyProperties(use), 'replace'));
    }
    if (shared !== undefined) writes.push(linesWrite(shared));
    const etags = await this.#table.transact(CALLS, writes, IN_A_CALL);
    const stored = this.#remember({ ...known, etag: etags[0] ?? '', commit });
    return { stored, linesEtag: shared && etags.at(-1) };
  }

  /**
   * Writes what has changed of a notification and, with it, what changes for all instances.
   *
   * @param commit names the write
   * @returns what is stored then, and the version of what all instances share if that was written
   * @throws {WriteConflict} if another writer was first
   */
  async commit(
    before: StoredCase,
    after: NotificationCase,
    commit: string,
    shared: StoredLines | undefined,
  ): Promise<Written> {
    const rowKey = notificationKey(after.notification.id);
    const properties = changedProperties(before, after, commit);
    const writes: RowWrite[] = [{ kind: 'merge', rowKey, etag: before.etag, properties }];
    if (shared !== undefined) writes.push(linesWrite(shared));
    const [etag = '', linesEtag] = await this.#table.transact(CALLS, writes, IN_A_CALL);
    return { stored: this.#remember({ ...after, etag, commit }), linesEtag };
  }

  /** Writes what all instances share. @returns its version @throws {WriteConflict} if another writer was first */
  async writeLines(shared: StoredLines): Promise<string> {
    const [etag = ''] = await this.#table.transact(CALLS, [linesWrite(shared)], IN_A_CALL);
    return etag;
  }

  /** Deletes notifications that were created before a time, also those that cannot be read, with the keys that still name them. */
  async deleteBefore(at: number): Promise<void> {
    const pages = this.#table.pages(CALLS, notificationsBefore(at), { most: DELETED_AT_A_TIME, isAnyFormat: true });
    for await (const page of pages) {
      for (const row of page) {
        const keyHash = this.#readable(row)?.notification.keyHash;
        if (keyHash !== undefined) await this.#deleteKey(keyHash, idOf(row.rowKey));
        await this.#unlessGone(row.rowKey);
      }
    }
  }

  async #deleteKey(keyHash: string, id: NotificationId | undefined): Promise<void> {
    const rowKey = idempotencyRowKey(keyHash);
    const row = await this.#table.get(CALLS, rowKey, { isAnyFormat: true });
    if (row === undefined) return;
    const use = this.#unlessUnreadable(row, () => parseKey(row));
    if (use?.notificationId === id) await this.#unlessGone(rowKey);
  }

  async #unlessGone(rowKey: string): Promise<void> {
    try {
      await this.#table.delete(CALLS, [rowKey]);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  /** A row that cannot be read is replaced with the next write. */
  #linesOf(row: StoredRow | undefined): StoredLines {
    const lines = row && this.#unlessUnreadable(row, () => parseLines(row));
    return { lines: lines ?? { queue: {} }, etag: row?.etag };
  }

  #remember(stored: StoredCase): StoredCase {
    this.#remembered.set(stored.notification.id, stored);
    return stored;
  }

  #readable(row: StoredRow): StoredCase | undefined {
    const id = idOf(row.rowKey);
    return id === undefined ? undefined : this.#unlessUnreadable(row, () => this.#caseOf(row, id));
  }

  #caseOf(row: StoredRow, id: NotificationId): StoredCase {
    const known = this.#remembered.get(id);
    if (known?.etag === row.etag) return known;
    try {
      this.#table.checkFormat(row);
      return this.#remember({ ...parseCase(row, id), etag: row.etag });
    } catch (error) {
      if (isUnreadable(error)) this.#tellOnce(row, error);
      throw error;
    }
  }

  #unlessUnreadable<Value>(row: StoredRow, read: () => Value): Value | undefined {
    try {
      this.#table.checkFormat(row);
      return read();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.#tellOnce(row, error);
      return undefined;
    }
  }

  #tellOnce(row: RowKeys, error: Error): void {
    if (this.#told.has(row.rowKey)) return;
    this.#told.set(row.rowKey, true);
    this.#tell(row, error);
  }
}

const linesWrite = ({ lines, etag }: StoredLines): RowWrite =>
  writeOf(LINES_KEY, etag, linesProperties(lines), 'replace');

/** Whether a row cannot be read: it is damaged, or of a later format. */
export const isUnreadable = (error: unknown): error is DamagedRow | LaterFormat =>
  error instanceof DamagedRow || error instanceof LaterFormat;
