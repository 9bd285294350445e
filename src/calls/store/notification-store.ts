import { setTimeout as sleep } from 'node:timers/promises';

import { isCompleted, type Notification, type NotificationWithRecipients } from '../notification.ts';
import type { NotificationId } from '../notification-id.ts';
import { maskPhoneNumber } from '../phone-number.ts';
import type { RecipientStep } from '../recipient.ts';
import type { Recipient } from '../recipient-state.ts';
import { reserveCalls, type StoreRules } from './day-calls.ts';
import { DueList } from './due-list.ts';
import { dueKey, moveDue } from './due-rows.ts';
import { insertNotification, replaceNotification, replaceRecipient, writeOver } from './notification-changes.ts';
import {
  ALL_NOTIFICATIONS,
  idempotencyRowKey,
  type IdempotencyRow,
  idempotencyValues,
  notificationKey,
  NOTIFICATIONS,
  notificationRange,
  parseIdempotencyRow,
  parseNotificationRow,
  recipientValues,
} from './notification-rows.ts';
import { type RowChange, type Rows, RowsUnavailable, type StoredRow } from './rows.ts';
import { assemble, demand, readRecipient, readRow, storedRecipients } from './stored-notifications.ts';

/** What became of the wish to create a notification. */
export type Created =
  | 'created'
  /** Its key was used in the last 24 hours. */
  | { readonly earlier: IdempotencyRow }
  /** So many of the day's calls are left, which is not enough. */
  | { readonly callsLeft: number };

/** A step, and the recipient after it. */
type Changed<Action> = RecipientStep<Action> & { readonly recipient: Recipient };

/** The `Idempotency-Key` of a new notification and what it is for. */
export interface KeyUse {
  readonly keyHash: string;
  readonly fingerprint: string;
}

/** How long a key belongs to its first request, in milliseconds. */
export const KEY_HOLDS_MS = 86_400_000;

const ATTEMPTS = 20;
const LONGEST_PAUSE_MS = 40;
// Two changes a recipient; a commit takes 100.
const RECIPIENTS_A_COMMIT = 40;

/**
 * Notifications, their recipients and what is due. A recipient's row and its entry among what is due change in one commit, and only if
 * nobody else has changed the row since it was read. So of all instances one dials, and nobody is forgotten, whoever dies when.
 * Throws {@link RowsUnavailable} and nothing else.
 */
export class NotificationStore {
  readonly #rows: Rows;
  readonly #rules: StoreRules;
  /** What is due; reads the entries that this store writes. */
  readonly dueList: DueList;

  constructor(rows: Rows, rules: StoreRules) {
    this.#rows = rows;
    this.#rules = rules;
    this.dueList = new DueList(rows, rules.retentionMs);
  }

  /**
   * Writes all rows of a notification, in one commit with its key and the calls that it may take of the day's. Asking again after an
   * answer was lost creates it once.
   */
  async create(
    notification: Notification,
    recipients: readonly Recipient[],
    key: KeyUse | undefined,
    now: number,
  ): Promise<Created> {
    const { id } = notification;
    const expiry = dueKey(now + this.#rules.retentionMs, { kind: 'expired_notification', notificationId: id });
    return untilCommitted(async () => {
      const { row: keyRow, earlier } = await this.#keyUsed(key?.keyHash, now);
      if (earlier !== undefined) return earlier.notificationId === id ? 'created' : { earlier };
      const calls = recipients.filter(({ reserved }) => reserved).length;
      const reserved = await reserveCalls(this.#rows, calls, this.#rules, now);
      if ('callsLeft' in reserved) return reserved;
      const changes: RowChange[] = [
        ...reserved.changes,
        ...insertNotification(notification, recipients),
        ...moveDue(undefined, expiry),
      ];
      if (key !== undefined) {
        const values = idempotencyValues({ notificationId: id, fingerprint: key.fingerprint, createdAt: now });
        changes.push(writeOver(idempotencyRowKey(key.keyHash), values, keyRow));
      }
      if (await this.#commit(changes)) return 'created';
      // It may be the conflict with an earlier commit of this very notification, whose answer was lost.
      return (await readRow(this.#rows, notificationKey(id))) === undefined ? 'conflict' : 'created';
    });
  }

  /** What a key was used for in the last 24 hours. */
  async earlierUse(keyHash: string, now: number): Promise<IdempotencyRow | undefined> {
    return (await this.#keyUsed(keyHash, now)).earlier;
  }

  /** A notification with its recipients; undefined where there is none. */
  async read(id: NotificationId): Promise<NotificationWithRecipients | undefined> {
    return assemble(await this.#rowsOf(id))[0];
  }

  /** The newest notifications, the newest first. */
  async newest(most: number): Promise<readonly NotificationWithRecipients[]> {
    // Most have few recipients; where that is not enough, all that they can have.
    for (const mostRows of [most * 6, most * 51]) {
      const rows = await this.#rows.list(NOTIFICATIONS, ALL_NOTIFICATIONS, mostRows);
      const found = assemble(rows);
      // The last one may be cut off.
      if (rows.length < mostRows || found.length > most) return found.slice(0, most);
    }
    return assemble(await this.#rows.list(NOTIFICATIONS, ALL_NOTIFICATIONS)).slice(0, most);
  }

  /**
   * Changes a recipient and its entry among what is due.
   *
   * @param decide a pure function; may be called several times, each time with a newer recipient
   * @returns undefined where there is no such recipient
   */
  async update<Action>(
    id: NotificationId,
    index: number,
    decide: (recipient: Recipient) => RecipientStep<Action>,
  ): Promise<Changed<Action> | undefined> {
    return this.#changeRecipient<Action>(id, index, decide, async () => []);
  }

  /** As `update`, but a call that is not reserved yet is counted among the day's in the same commit. */
  async claim<Action>(
    id: NotificationId,
    index: number,
    decide: (recipient: Recipient) => RecipientStep<Action>,
    now: number,
  ): Promise<Changed<Action | 'no calls left'> | undefined> {
    return this.#changeRecipient(id, index, decide, async (from, to) => {
      const reserved = await reserveCalls(this.#rows, to.reserved && !from.reserved ? 1 : 0, this.#rules, now);
      return 'callsLeft' in reserved ? 'no calls left' : reserved.changes;
    });
  }

  /**
   * One missed answer is not an outage: a change is tried once more, and one that was made although its answer got lost is known again.
   *
   * @param furtherChanges what is to be committed with it, or why it may not be made
   */
  async #changeRecipient<Action, Refusal extends string = never>(
    id: NotificationId,
    index: number,
    decide: (recipient: Recipient) => RecipientStep<Action>,
    furtherChanges: (from: Recipient, to: Recipient) => Promise<readonly RowChange[] | Refusal>,
  ): Promise<Changed<Action | Refusal> | undefined> {
    let unclear: Changed<Action> | undefined;
    let hasFailed = false;
    return untilCommitted(async () => {
      let changed: Changed<Action> | undefined;
      try {
        const known = await readRecipient(this.#rows, id, index);
        if (known === undefined) return undefined;
        if (unclear !== undefined && isSame(unclear.recipient, known.recipient)) return unclear;
        const step = decide(known.recipient);
        if (step.next === undefined) return { ...step, recipient: known.recipient };
        const more = await furtherChanges(known.recipient, step.next);
        if (typeof more === 'string') return { action: more, recipient: known.recipient };
        changed = { ...step, recipient: step.next };
        return (await this.#commit([...replaceRecipient(id, known, step.next), ...more])) ? changed : 'conflict';
      } catch (error) {
        if (hasFailed || !(error instanceof RowsUnavailable)) throw error;
        hasFailed = true;
        unclear = changed;
        return 'conflict';
      }
    });
  }

  /** Gives every recipient who still waits without an entry of its own one at that time, and the notification its next one. */
  async enqueue(id: NotificationId, at: number, nextDueAt: number): Promise<void> {
    await untilCommitted(async () => {
      const rows = await this.#rowsOf(id);
      const changes = storedRecipients(rows).flatMap((known) =>
        known.recipient.state === 'waiting' && known.recipient.dueAt === undefined
          ? [replaceRecipient(id, known, { ...known.recipient, dueAt: at })]
          : [],
      );
      const isDone = (await this.#commitInChunks(changes)) && (await this.#change(rows, { dueAt: nextDueAt }));
      return isDone ? undefined : 'conflict';
    });
  }

  /**
   * Completes a notification for whose recipients nothing more will be done: their numbers are masked. Where that is not so, it is
   * looked at again at `nextDueAt`, if that is given.
   */
  async complete(id: NotificationId, now: number, nextDueAt?: number): Promise<'completed' | 'in progress'> {
    return untilCommitted(async () => {
      const rows = await this.#rowsOf(id);
      const [whole] = assemble(rows);
      if (whole === undefined) return 'in progress';
      if (!isCompleted(whole.recipients)) {
        const isMoved = nextDueAt === undefined || (await this.#change(rows, { dueAt: nextDueAt }));
        return isMoved ? 'in progress' : 'conflict';
      }
      if (whole.notification.completedAt !== undefined) return 'in progress';
      const masked = storedRecipients(rows).map(({ row, recipient }): RowChange => {
        const values = recipientValues({ ...recipient, number: maskPhoneNumber(recipient.number) });
        return { kind: 'replace', rowKey: row.rowKey, values, etag: row.etag };
      });
      const isDone = await this.#change(rows, { dueAt: undefined, completedAt: now }, masked);
      return isDone ? 'completed' : 'conflict';
    });
  }

  async #keyUsed(
    keyHash: string | undefined,
    now: number,
  ): Promise<{ readonly row?: StoredRow | undefined; readonly earlier?: IdempotencyRow | undefined }> {
    const row = keyHash === undefined ? undefined : await readRow(this.#rows, idempotencyRowKey(keyHash));
    if (row === undefined) return {};
    const used = demand(parseIdempotencyRow(row));
    return now - used.createdAt < KEY_HOLDS_MS ? { row, earlier: used } : { row };
  }

  /** Changes the notification of these rows; one that is completed stays as it is. Answers false after a conflict. */
  async #change(
    [row]: readonly StoredRow[],
    change: Pick<Notification, 'dueAt'> & Partial<Notification>,
    more: readonly RowChange[] = [],
  ): Promise<boolean> {
    const notification = row && demand(parseNotificationRow(row));
    if (row === undefined || notification === undefined || notification.completedAt !== undefined) return true;
    return this.#commit([...replaceNotification(row, notification, { ...notification, ...change }), ...more]);
  }

  async #commitInChunks(changes: readonly (readonly RowChange[])[]): Promise<boolean> {
    for (let start = 0; start < changes.length; start += RECIPIENTS_A_COMMIT) {
      if (!(await this.#commit(changes.slice(start, start + RECIPIENTS_A_COMMIT).flat()))) return false;
    }
    return true;
  }

  /** Whether no other writer was first. */
  async #commit(changes: readonly RowChange[]): Promise<boolean> {
    return (await this.#rows.commit(NOTIFICATIONS, changes)) === 'done';
  }

  #rowsOf(id: NotificationId): Promise<readonly StoredRow[]> {
    return this.#rows.list(NOTIFICATIONS, notificationRange(id));
  }
}

// As they are stored: what is undefined is not.
const isSame = (one: Recipient, other: Recipient): boolean =>
  JSON.stringify(recipientValues(one)) === JSON.stringify(recipientValues(other));

/** Reads, decides and commits again until no other writer came in between. @throws {RowsUnavailable} after many conflicts */
const untilCommitted = async <Result>(round: () => Promise<Result | 'conflict'>): Promise<Result> => {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const result = await round();
    if (result !== 'conflict') return result;
    await sleep(Math.random() * LONGEST_PAUSE_MS * attempt);
  }
  throw new RowsUnavailable('contended');
};
