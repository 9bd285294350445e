import { LRUCache } from 'lru-cache';
import type { NotificationId } from '../model/ids.ts';
import { KEY_HOLDS_MS, type KeyUse } from '../rules/idempotency.ts';
import { LONGEST_ATTENTION_MS, needsAttention, type NotificationCase } from '../state/notification.ts';
import type { Lines } from '../state/step.ts';
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

export interface StoredCase extends NotificationCase {
  readonly etag: string;
  /** Names the write that made this version. */
  readonly commit: string;
}

export interface StoredLines {
  readonly lines: Lines;
  /** Undefined: there is no such row yet. */
  readonly etag: string | undefined;
}

/** The shared state and the live notifications, from one query. */
export interface Snapshot extends StoredLines {
  readonly live: readonly StoredCase[];
}

/** A notification after a write, and the version of the shared state if the transaction wrote it. */
export interface Written {
  readonly stored: StoredCase;
  readonly linesEtag: string | undefined;
}

export interface Listed<Item> {
  readonly found: readonly Item[];
  /** The last notification that was read if there may be more. */
  readonly next: NotificationId | undefined;
}

/** The callee hears silence during such a request. */
const IN_A_CALL = { deadlineMs: 1_500, tries: 1 } as const;
/** The longest deadline, and the last call before it. */
const LIVE_FOR_MS = 25 * 3_600_000;
/** Outcomes are published within a day. */
const TOLD_FOR_MS = LIVE_FOR_MS + 24 * 3_600_000;
const MOST_REMEMBERED = 500;
/** A list reads this number of rows at most, in such pages. */
const MOST_LISTED = 1_000;
const LISTED_AT_A_TIME = 100;
const DELETED_AT_A_TIME = 50;

const MARKED = { live: 'yes', told: 'no', short: 'yes' } as const satisfies Record<Mark, string>;

/**
 * The rows about calls: one for each notification, and one for the state that all instances share. A write requires the version that was
 * read, so that only one instance dials, speaks and hangs up.
 *
 * All methods throw StorageTrouble if the table cannot be used now.
 */
export class NotificationStore {
  readonly #table: Table;
  readonly #tell: (row: RowKeys, error: Error) => void;
  readonly #newId: () => string;
  /** Another instance may have changed a state that is not known to be outdated: then a commit meets a conflict. */
  readonly #remembered = new LRUCache<NotificationId, { stored: StoredCase; isOutdated: boolean }>({
    max: MOST_REMEMBERED,
  });
  readonly #told = new LRUCache<string, true>({ max: MOST_REMEMBERED });

  /** @param tell called once per process for each unreadable row */
  constructor(table: Table, newId: () => string, tell: (row: RowKeys, error: Error) => void) {
    this.#table = table;
    this.#newId = newId;
    this.#tell = tell;
  }

  recall(id: NotificationId): StoredCase | undefined {
    const known = this.#remembered.get(id);
    return known?.isOutdated === false ? known.stored : undefined;
  }

  /** The last known state, even if it is outdated: what a notification says never changes. */
  lastKnown(id: NotificationId): NotificationCase | undefined {
    return this.#remembered.get(id)?.stored;
  }

  /** The remembered state is outdated. */
  forget(id: NotificationId): void {
    const known = this.#remembered.get(id);
    if (known !== undefined) known.isOutdated = true;
  }

  /** A notification; undefined if it does not exist. @throws {DamagedRow | LaterFormat} its row cannot be read */
  async load(id: NotificationId): Promise<StoredCase | undefined> {
    const row = await this.#table.get(CALLS, notificationKey(id), { ...IN_A_CALL, isAnyFormat: true });
    return row && this.#caseOf(row, id);
  }

  /** The shared state, and every live notification. @param isWhole of the whole retention, not of the last 25 hours */
  async look(now: number, isWhole = false): Promise<Snapshot> {
    const rows = await this.#marked('live', isWhole ? undefined : now - LIVE_FOR_MS);
    return { ...this.#linesOf(rows.find(({ rowKey }) => rowKey === LINES_KEY)), live: this.#readableOf(rows) };
  }

  async lines(): Promise<StoredLines> {
    return this.#linesOf(await this.#table.get(CALLS, LINES_KEY, { ...IN_A_CALL, isAnyFormat: true }));
  }

  /** Notifications with outcomes to publish. @param isWhole of the whole retention, not of the last two days */
  async untold(now: number, isWhole = false): Promise<readonly StoredCase[]> {
    return this.#readableOf(await this.#marked('told', isWhole ? undefined : now - TOLD_FOR_MS));
  }

  /** All notifications that need attention, newest first. */
  async needingAttention(now: number): Promise<readonly StoredCase[]> {
    const rows = await this.#marked('short', now - LONGEST_ATTENTION_MS);
    return this.#readableOf(rows).filter((known) => needsAttention(known, now));
  }

  async #marked(property: Mark, since: number | undefined): Promise<readonly StoredRow[]> {
    const where = { property, from: MARKED[property], to: MARKED[property] };
    return this.#table.all(CALLS, linesAndNotifications(since), { where, tries: 2, isAnyFormat: true });
  }

  /** At most `most` readable notifications, newest first. @param isMeant whether a notification belongs to the list */
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
        found.push(...this.#readableOf([row]).filter(isMeant));
      }
    }
    return { found, next: undefined };
  }

  /** The request of a key in the last 24 hours, and the version of the row. */
  async readKey(
    { keyHash }: KeyUse,
    now: number,
  ): Promise<{ readonly earlier?: IdempotencyRow | undefined; readonly etag?: string | undefined }> {
    const row = await this.#table.get(CALLS, idempotencyRowKey(keyHash), { ...IN_A_CALL, isAnyFormat: true });
    if (row === undefined) return {};
    // An unreadable row must not prevent calls.
    const earlier = this.#unlessUnreadable(() => this.#read(row, parseKey));
    const isHeld = earlier !== undefined && now - earlier.createdAt < KEY_HOLDS_MS;
    return { earlier: isHeld ? earlier : undefined, etag: row.etag };
  }

  /** Inserts a notification in one transaction. @throws {WriteConflict} another writer was first, or an earlier try was carried out */
  async create(
    known: NotificationCase,
    key: (KeyUse & { readonly etag?: string | undefined }) | undefined,
    shared: StoredLines | undefined,
    now: number,
  ): Promise<Written> {
    const commit = this.#newId();
    const { id: notificationId } = known.notification;
    const properties = changedProperties(undefined, known, commit);
    const writes: RowWrite[] = [{ kind: 'insert', rowKey: notificationKey(notificationId), properties }];
    if (key !== undefined) {
      const use = keyProperties({ notificationId, fingerprint: key.fingerprint, createdAt: now });
      writes.push(writeOf(idempotencyRowKey(key.keyHash), key.etag, use, 'replace'));
    }
    return this.#write(known, commit, writes, shared);
  }

  /** Writes the changes of a notification in one transaction, which `commit` names. @throws {WriteConflict} another writer was first */
  async commit(
    before: StoredCase,
    after: NotificationCase,
    commit: string,
    shared: StoredLines | undefined,
  ): Promise<Written> {
    const rowKey = notificationKey(after.notification.id);
    const properties = changedProperties(before, after, commit);
    return this.#write(after, commit, [{ kind: 'merge', rowKey, etag: before.etag, properties }], shared);
  }

  async #write(
    known: NotificationCase,
    commit: string,
    own: readonly RowWrite[],
    shared: StoredLines | undefined,
  ): Promise<Written> {
    const writes = shared === undefined ? own : [...own, linesWrite(shared)];
    const etags = await this.#table.transact(CALLS, writes, IN_A_CALL);
    const stored = this.#remember({ ...known, etag: etags[0] ?? '', commit });
    return { stored, linesEtag: shared && etags.at(-1) };
  }

  async writeLines(shared: StoredLines): Promise<string> {
    const [etag = ''] = await this.#table.transact(CALLS, [linesWrite(shared)], IN_A_CALL);
    return etag;
  }

  /** Deletes notifications that were created before a time, even unreadable rows, with their keys. */
  async deleteBefore(at: number): Promise<void> {
    const pages = this.#table.pages(CALLS, notificationsBefore(at), { most: DELETED_AT_A_TIME, isAnyFormat: true });
    for await (const page of pages) {
      for (const row of page) {
        const [known] = this.#readableOf([row]);
        if (known?.notification.keyHash !== undefined) await this.#deleteKey(known.notification);
        await this.#unlessGone(row.rowKey);
      }
    }
  }

  /** Deletes the row of a key, unless a newer notification has it. */
  async #deleteKey({ id, keyHash = '' }: Pick<StoredCase['notification'], 'id' | 'keyHash'>): Promise<void> {
    const rowKey = idempotencyRowKey(keyHash);
    const row = await this.#table.get(CALLS, rowKey, { isAnyFormat: true });
    const use = row && this.#unlessUnreadable(() => this.#read(row, parseKey));
    if (use?.notificationId === id) await this.#unlessGone(rowKey);
  }

  async #unlessGone(rowKey: string): Promise<void> {
    try {
      await this.#table.delete(CALLS, [rowKey]);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  /** The next write replaces an unreadable row. */
  #linesOf(row: StoredRow | undefined): StoredLines {
    const lines = row && this.#unlessUnreadable(() => this.#read(row, parseLines));
    return { lines: lines ?? { queue: {} }, etag: row?.etag };
  }

  #remember(stored: StoredCase): StoredCase {
    this.#remembered.set(stored.notification.id, { stored, isOutdated: false });
    return stored;
  }

  #readableOf(rows: readonly StoredRow[]): readonly StoredCase[] {
    return rows.flatMap((row) => {
      const id = idOf(row.rowKey);
      return (id && this.#unlessUnreadable(() => this.#caseOf(row, id))) ?? [];
    });
  }

  #caseOf(row: StoredRow, id: NotificationId): StoredCase {
    const known = this.#remembered.get(id)?.stored;
    if (known?.etag === row.etag) return this.#remember(known);
    return this.#remember({ ...this.#read(row, () => parseCase(row, id)), etag: row.etag });
  }

  /** @throws {DamagedRow | LaterFormat} after telling it once */
  #read<Value>(row: StoredRow, parse: (row: StoredRow) => Value): Value {
    try {
      this.#table.checkFormat(row);
      return parse(row);
    } catch (error) {
      if (isUnreadable(error) && !this.#told.has(row.rowKey)) {
        this.#told.set(row.rowKey, true);
        this.#tell(row, error);
      }
      throw error;
    }
  }

  #unlessUnreadable<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }
}

const linesWrite = ({ lines, etag }: StoredLines): RowWrite =>
  writeOf(LINES_KEY, etag, linesProperties(lines), 'replace');

export const isUnreadable = (error: unknown): error is DamagedRow | LaterFormat =>
  error instanceof DamagedRow || error instanceof LaterFormat;
