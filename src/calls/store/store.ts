import { LRUCache } from 'lru-cache';
import type { NotificationId } from '../model/ids.ts';
import type { Destination } from '../model/outcomes.ts';
import { KEY_HOLDS_MS, type KeyUse } from '../rules/idempotency.ts';
import type { MessageTerms } from '../rules/message.ts';
import type { Moment } from '../state/attempt.ts';
import { type Lines, NO_LINES } from '../state/lines.ts';
import {
  type AnyCase,
  MAX_ATTENTION_MS,
  needsAttention,
  type Notification,
  type NotificationCase,
  settled,
  type SettledCase,
} from '../state/notification.ts';
import { type Outcomes, outcomesToDeliver, type Receiver } from '../state/outcomes.ts';
import {
  CALLS,
  changedProperties,
  type Delivery,
  deliveryProperties,
  doneIn,
  doneKey,
  type IdempotencyRow,
  idempotencyRowKey,
  idOf,
  isLiveRow,
  keyProperties,
  LINES_AND_LIVE,
  LINES_KEY,
  linesProperties,
  liveIn,
  liveKey,
  type NotificationsQuery,
  outcomesBefore,
  outcomesKey,
  outcomesProperties,
  parseKey,
  parseLines,
  parseLive,
  parseOutcomes,
  parseSettled,
  settledProperties,
} from './rows.ts';
import type { PageQuery } from '../../storage/connection.ts';
import {
  DamagedRow,
  LaterFormat,
  RequestRefused,
  type RowKeys,
  StorageTrouble,
  WriteConflict,
} from '../../storage/errors.ts';
import { type KeyRange, type RowWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';

/** This process cannot use the row of a notification for a while: its calls are treated like calls without a row. `cause`: why. */
export class SetAside extends Error {
  override readonly name = 'SetAside';

  constructor(cause: unknown) {
    super('a notification is set aside', { cause });
  }
}

/** A live notification, as it is stored. */
export interface LiveCase extends NotificationCase {
  readonly etag: string;
  /** Names the write that made this version. */
  readonly commit: string;
}

/** A settled notification, as it is stored. */
export interface StoredSettledCase extends SettledCase {
  readonly etag: string;
}

export interface StoredLines {
  readonly lines: Lines;
  /** Undefined: there is no such row yet. */
  readonly etag: string | undefined;
}

/** The stored outcomes of a commit. */
export interface StoredOutcomes extends Outcomes, Delivery {
  readonly rowKey: string;
  readonly etag: string;
}

/** A transaction about a notification. */
export interface Commit {
  /** Undefined: the notification is new. */
  readonly before: LiveCase | undefined;
  readonly after: NotificationCase;
  readonly moment: Moment;
  /** The row of the lines as it was read, and after the transaction. Undefined: it does not change. */
  readonly lines?: { readonly read: StoredLines; readonly after: Lines } | undefined;
  /** The key of a new notification, and the version of an earlier row of that key. */
  readonly key?: (KeyUse & { readonly etag?: string | undefined }) | undefined;
}

/** The result of a transaction. `outcomes`: of this commit, to deliver now. */
export interface Committed extends Pick<Commit, 'before' | 'lines'> {
  readonly stored: LiveCase;
  readonly outcomes: StoredOutcomes | undefined;
}

export interface Listed<Item> {
  readonly found: readonly Item[];
  /** The last notification that was read; undefined: there are no more. */
  readonly next: NotificationId | undefined;
}

/** The texts of the calls of a notification: they never change. */
export type Texts = Pick<Notification, 'alertType'> & MessageTerms;

/** The callee hears silence during such a request. */
const IN_A_CALL = { deadlineMs: 1_500, tries: 1 } as const;
/** The live notifications, in pages. A slow page is better than no page. */
const LIVE = { deadlineMs: 6_000, tries: 1 } as const;
/** Lists for operators, and outcomes. */
const LISTED = { tries: 2 } as const;
const MAX_REMEMBERED = 1_000;
const MAX_TEXTS = 10_000;
/** A list reads this number of rows at most, in such pages. */
const MAX_LISTED = 1_000;
const LISTED_AT_A_TIME = 100;
const DELETED_AT_A_TIME = 50;
/** The maximum number of writes in a transaction. Storage takes 100 writes and 4 MiB. */
const MAX_WRITES = 90;
const MAX_BYTES = 3 * 1024 * 1024;

/**
 * The rows about calls. Every write requires the versions that were read.
 *
 * All methods throw StorageTrouble if the table cannot be used now, and RequestRefused if storage never takes a write.
 */
export class Store {
  readonly #table: Table;
  readonly #destinations: readonly Destination[];
  readonly #logUnreadable: (row: RowKeys, error: Error) => void;
  /** Another instance may have changed a row since: then a commit meets a conflict. */
  readonly #remembered = new LRUCache<NotificationId, LiveCase>({ max: MAX_REMEMBERED });
  /** The latest commits of this process. */
  readonly #own = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  readonly #texts = new LRUCache<NotificationId, Texts>({ max: MAX_TEXTS });
  readonly #logged = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  #lines: StoredLines | undefined;

  /**
   * @param destinations where outcomes are published
   * @param logUnreadable called once per process for each unreadable row
   */
  constructor(table: Table, destinations: readonly Destination[], logUnreadable: (row: RowKeys, error: Error) => void) {
    this.#table = table;
    this.#destinations = destinations;
    this.#logUnreadable = logUnreadable;
  }

  /** A live notification as this process read or wrote it last. */
  recall(id: NotificationId): LiveCase | undefined {
    return this.#remembered.get(id);
  }

  /** Whether this process made the last commit of a notification, as far as it knows. */
  isOwn({ commit }: LiveCase): boolean {
    return this.#own.has(commit);
  }

  forget(id: NotificationId): void {
    this.#remembered.delete(id);
  }

  /** The texts of the calls of a notification, if this process has ever read it. */
  textsOf(id: NotificationId): Texts | undefined {
    return this.#texts.get(id);
  }

  forgetLines(): void {
    this.#lines = undefined;
  }

  /** A live notification; undefined if it does not exist. @throws {DamagedRow | LaterFormat} its row cannot be read */
  async load(id: NotificationId): Promise<LiveCase | undefined> {
    const row = await this.#table.get(CALLS, liveKey(id), IN_A_CALL);
    if (row === undefined) this.forget(id);
    return row && this.#liveOf(row);
  }

  /** A settled notification; undefined if it does not exist. @throws {DamagedRow | LaterFormat} its row cannot be read */
  async loadSettled(id: NotificationId): Promise<StoredSettledCase | undefined> {
    const row = await this.#table.get(CALLS, doneKey(id), IN_A_CALL);
    return row && { ...this.#read(row, parseSettled), etag: row.etag };
  }

  /** A notification, live or settled. It may settle between the two reads. @throws {DamagedRow | LaterFormat} */
  async find(id: NotificationId): Promise<AnyCase | undefined> {
    return (await this.load(id)) ?? (await this.loadSettled(id));
  }

  /** The row of the lines, and every live notification that can be read: one query. */
  async readLive(): Promise<StoredLines & { readonly live: readonly LiveCase[] }> {
    const rows = await this.#table.all(CALLS, LINES_AND_LIVE, LIVE);
    this.#lines = this.#linesOf(rows.find(({ rowKey }) => rowKey === LINES_KEY));
    const live = rows.filter(isLiveRow).flatMap((row) => ifReadable(() => this.#liveOf(row)) ?? []);
    return { ...this.#lines, live };
  }

  /** The row of the lines as this process remembers it, or read from storage. */
  async lines(): Promise<StoredLines> {
    return this.#lines ?? this.readLines();
  }

  /** The row of the lines, read from storage. */
  async readLines(): Promise<StoredLines> {
    this.#lines = this.#linesOf(await this.#table.get(CALLS, LINES_KEY, IN_A_CALL));
    return this.#lines;
  }

  /** Writes a notification and the other rows of the same decision in one transaction. @throws {WriteConflict} another writer was first */
  async commit({ before, after, moment, lines, key }: Commit): Promise<Committed> {
    const { id, createdAt } = after.notification;
    const { commit } = moment;
    const writes: RowWrite[] = [writeOf(liveKey(id), before?.etag, changedProperties(before, after, commit))];
    if (lines !== undefined) writes.push(linesWrite(lines.after, lines.read.etag));
    if (key !== undefined) {
      const use = { notificationId: id, fingerprint: key.fingerprint, createdAt };
      writes.push(writeOf(idempotencyRowKey(key.keyHash), key.etag, keyProperties(use), 'replace'));
    }
    const { etags, outcomes } = await this.#writeWithOutcomes(writes, before, after, moment);
    this.#own.set(commit, true);
    if (lines !== undefined) this.#lines = { lines: lines.after, etag: etags[1] };
    return { before, stored: this.#remember({ ...after, etag: etags[0] ?? '', commit }), lines, outcomes };
  }

  /** Writes what changed of a settled notification. @throws {WriteConflict} another writer was first */
  async commitSettled(
    before: StoredSettledCase,
    after: SettledCase,
    moment: Moment,
  ): Promise<StoredOutcomes | undefined> {
    const rowKey = doneKey(after.notification.id);
    const write = writeOf(rowKey, before.etag, changedProperties(before, after, moment.commit));
    return (await this.#writeWithOutcomes([write], before, after, moment)).outcomes;
  }

  /** Makes writes, together with the outcomes that they decide. */
  async #writeWithOutcomes(
    writes: readonly RowWrite[],
    before: AnyCase | undefined,
    after: AnyCase,
    { now, commit }: Moment,
  ): Promise<{ readonly etags: readonly string[]; readonly outcomes: StoredOutcomes | undefined }> {
    const outcomes = outcomesToDeliver(before, after, this.#destinations, now);
    if (outcomes === undefined) return { etags: await this.#transact(writes), outcomes };
    const rowKey = outcomesKey(outcomes, commit);
    const insert = { kind: 'insert', rowKey, properties: outcomesProperties(outcomes) } as const;
    const etags = await this.#transact([...writes, insert]);
    return { etags, outcomes: { ...outcomes, rowKey, etag: etags.at(-1) ?? '' } };
  }

  /** Moves a live notification to its settled row, with masked numbers. @throws {WriteConflict} another instance was first */
  async settle(live: LiveCase): Promise<void> {
    const { id } = live.notification;
    this.forget(id);
    await this.#transact([
      { kind: 'insert', rowKey: doneKey(id), properties: settledProperties(settled(live), live.commit) },
      { kind: 'delete', rowKey: liveKey(id) },
    ]);
  }

  /** @throws {WriteConflict} another writer was first */
  async writeLines(after: Lines, read: StoredLines): Promise<void> {
    this.#lines = undefined;
    const [etag = ''] = await this.#transact([linesWrite(after, read.etag)]);
    this.#lines = { lines: after, etag };
  }

  /** All notifications that need attention, newest first. */
  async needingAttention(now: number): Promise<readonly AnyCase[]> {
    const where = { property: 'reachedTooFew', from: 'yes', to: 'yes' };
    // A live notification stays listed, however old it is: the service may have been away, or its row cannot be used.
    const ranges = { live: liveIn({}), done: doneIn({ since: now - MAX_ATTENTION_MS }) };
    const rows = await Array.fromAsync(this.#newestFirst(ranges, where));
    return rows.flatMap((row) => this.#anyOf(row) ?? []).filter((stored) => needsAttention(stored, now));
  }

  /** At most `most` readable notifications, newest first. @param isMeant whether a notification belongs to the list */
  async list(
    { most, ...query }: NotificationsQuery & { readonly most: number },
    isMeant: (stored: AnyCase) => boolean,
  ): Promise<Listed<AnyCase>> {
    const found: AnyCase[] = [];
    let read = 0;
    let last: NotificationId | undefined;
    for await (const row of this.#newestFirst({ live: liveIn(query), done: doneIn(query) })) {
      if (found.length === most || read === MAX_LISTED) return { found, next: last };
      read += 1;
      last = idOf(row.rowKey) ?? last;
      const stored = this.#anyOf(row);
      if (stored !== undefined && isMeant(stored)) found.push(stored);
    }
    return { found, next: undefined };
  }

  /** The rows of live and of settled notifications. A notification that settles between the two reads is in both, and comes once. */
  async *#newestFirst(
    ranges: Readonly<Record<'live' | 'done', KeyRange>>,
    where?: PageQuery['where'],
  ): AsyncGenerator<StoredRow> {
    let live = await this.#table.all(CALLS, ranges.live, LISTED);
    const pages = this.#table.pages(CALLS, ranges.done, { ...LISTED, where, most: LISTED_AT_A_TIME });
    for await (const page of pages) {
      const end = page.at(-1);
      // Later pages have older notifications.
      const newer = live.filter((row) => end !== undefined && idTextOf(row) <= idTextOf(end));
      live = live.filter((row) => !newer.includes(row));
      const rows = new Map([...page, ...newer].map((row) => [idTextOf(row), row]));
      yield* [...rows.values()].sort((row, other) => (idTextOf(row) < idTextOf(other) ? -1 : 1));
    }
    yield* live;
  }

  /**
   * The notification of a row; undefined if it cannot be read. It is not remembered: a list must not displace the notifications that this process
   * dials.
   */
  #anyOf(row: StoredRow): AnyCase | undefined {
    return ifReadable(() => this.#read<AnyCase>(row, isLiveRow(row) ? parseLive : parseSettled));
  }

  /** The request that used a key in the last 24 hours, and the version of the key's row. */
  async readKey(
    { keyHash }: KeyUse,
    now: number,
  ): Promise<{ readonly earlier?: IdempotencyRow | undefined; readonly etag?: string | undefined }> {
    const row = await this.#table.get(CALLS, idempotencyRowKey(keyHash), IN_A_CALL);
    if (row === undefined) return {};
    // An unreadable row must not prevent calls.
    const earlier = ifReadable(() => this.#read(row, parseKey));
    const isHeld = earlier !== undefined && now - earlier.createdAt < KEY_HOLDS_MS;
    return { earlier: isHeld ? earlier : undefined, etag: row.etag };
  }

  /** The outcomes that were decided before a time, oldest first. Unreadable rows are deleted. */
  async outcomesBefore(at: number): Promise<readonly StoredOutcomes[]> {
    const rows = await this.#table.all(CALLS, outcomesBefore(at), LISTED);
    const readable: StoredOutcomes[] = [];
    for (const row of rows) {
      const { rowKey, etag } = row;
      const outcomes = ifReadable(() => this.#read(row, parseOutcomes));
      if (outcomes === undefined) await this.#unlessGone(rowKey);
      else readable.push({ ...outcomes, rowKey, etag });
    }
    return readable;
  }

  /** Notes the receivers that still have to get outcomes; without a receiver, it deletes the outcomes. @throws {WriteConflict} another instance delivers them */
  async noteDelivery({ rowKey, etag }: StoredOutcomes, to: readonly Receiver[], until?: number): Promise<string> {
    if (to.length === 0) {
      await this.#unlessGone(rowKey);
      return '';
    }
    const properties = deliveryProperties(to, until);
    const [written = ''] = await this.#transact([{ kind: 'merge', rowKey, etag, properties }]);
    return written;
  }

  /** Deletes settled notifications that were created before a time, with their keys, and rows that cannot be read. */
  async deleteBefore(at: number): Promise<void> {
    for (const range of [doneIn({ until: at - 1 }), liveIn({ until: at - 1 })]) {
      for await (const page of this.#table.pages(CALLS, range, { most: DELETED_AT_A_TIME })) {
        for (const row of page) {
          const stored = this.#anyOf(row);
          // A live notification settles first.
          if (stored !== undefined && isLiveRow(row)) continue;
          if (stored?.notification.keyHash !== undefined) await this.#deleteKey(stored.notification);
          await this.#unlessGone(row.rowKey);
        }
      }
    }
  }

  /** Deletes the row of a key, unless a newer notification has it. */
  async #deleteKey({ id, keyHash = '' }: Pick<Notification, 'id' | 'keyHash'>): Promise<void> {
    const rowKey = idempotencyRowKey(keyHash);
    const row = await this.#table.get(CALLS, rowKey);
    const use = row && ifReadable(() => this.#read(row, parseKey));
    if (use?.notificationId === id) await this.#unlessGone(rowKey);
  }

  async #unlessGone(rowKey: string): Promise<void> {
    try {
      await this.#table.transact(CALLS, [{ kind: 'delete', rowKey }]);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  async #transact(writes: readonly RowWrite[]): Promise<readonly string[]> {
    if (writes.length > MAX_WRITES || Buffer.byteLength(JSON.stringify(writes)) > MAX_BYTES)
      throw new RequestRefused(413);
    return this.#table.transact(CALLS, writes, IN_A_CALL);
  }

  /** A damaged row is replaced with the next write. A row of a later format is never replaced. */
  #linesOf(row: StoredRow | undefined): StoredLines {
    if (row === undefined) return { lines: NO_LINES, etag: undefined };
    try {
      return { lines: this.#read(row, parseLines), etag: row.etag };
    } catch (error) {
      if (error instanceof LaterFormat) throw new StorageTrouble(0, { reason: 'later format', cause: error });
      if (error instanceof DamagedRow) return { lines: NO_LINES, etag: row.etag };
      throw error;
    }
  }

  #remember(stored: LiveCase): LiveCase {
    const { id, alertType, details } = stored.notification;
    this.#remembered.set(id, stored);
    this.#texts.set(id, { alertType, details });
    return stored;
  }

  #liveOf(row: StoredRow): LiveCase {
    const id = idOf(row.rowKey);
    const remembered = id && this.#remembered.get(id);
    if (remembered?.etag === row.etag) return remembered;
    return this.#remember({ ...this.#read(row, parseLive), etag: row.etag });
  }

  /** @throws {DamagedRow | LaterFormat} after logging it once */
  #read<Value>(row: StoredRow, parse: (row: StoredRow) => Value): Value {
    try {
      this.#table.checkFormat(row);
      return parse(row);
    } catch (error) {
      if (isUnreadable(error) && !this.#logged.has(row.rowKey)) {
        this.#logged.set(row.rowKey, true);
        this.#logUnreadable(row, error);
      }
      throw error;
    }
  }
}

/** Reads a row. Undefined: it cannot be read, and the reader continues without it. */
const ifReadable = <Value>(read: () => Value): Value | undefined => {
  try {
    return read();
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
};

/** Newer notifications have lower ids. */
const idTextOf = ({ rowKey }: StoredRow): string => idOf(rowKey) ?? '';

const linesWrite = (lines: Lines, etag: string | undefined): RowWrite =>
  writeOf(LINES_KEY, etag, linesProperties(lines), 'replace');

export const isUnreadable = (error: unknown): error is DamagedRow | LaterFormat =>
  error instanceof DamagedRow || error instanceof LaterFormat;
