import { setTimeout as sleep } from 'node:timers/promises';

import type { CallId } from '../call-id.ts';
import { isCompleted, type Notification, type NotificationWithRecipients } from '../notification.ts';
import type { NotificationId } from '../notification-id.ts';
import { maskPhoneNumber } from '../phone-number.ts';
import type { Recipient, RecipientStep } from '../recipient.ts';
import { callRowAddress } from './call-rows.ts';
import { type Due, dueKey, dueKeyOf, type DueSubject, dueUntil, moveDue, parseDueKey } from './due-rows.ts';
import {
  ALL_NOTIFICATIONS,
  dayRowKey,
  dayValues,
  idempotencyRowKey,
  type IdempotencyRow,
  idempotencyValues,
  notificationKey,
  NOTIFICATIONS,
  notificationRange,
  notificationValues,
  parseDayRow,
  parseIdempotencyRow,
  parseNotificationRow,
  parseRecipientRow,
  recipientKey,
  recipientValues,
} from './notification-rows.ts';
import { type RowChange, type Rows, RowsUnavailable, type StoredRow } from './rows.ts';

/** Bounds that the store keeps. */
export interface StoreRules {
  /** How many calls a UTC day may have. */
  readonly callsPerDay: number;
  /** How long rows are kept, in milliseconds. */
  readonly retentionMs: number;
}

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

const DAY_MS = 86_400_000;
/** How long a key belongs to its first request, in milliseconds. */
export const KEY_HOLDS_MS = DAY_MS;

const ATTEMPTS = 20;
const LONGEST_PAUSE_MS = 40;
// Two changes a recipient; a commit takes 100.
const RECIPIENTS_A_COMMIT = 40;

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** When a UTC day ends, in milliseconds since 1970. */
export const endOfDay = (at: number): number => (Math.floor(at / DAY_MS) + 1) * DAY_MS;

/**
 * Notifications, their recipients and what is due. A recipient's row and its entry among what is due change in one commit, and only if
 * nobody else has changed the row since it was read. So of all instances one dials, and nobody is forgotten, whoever dies when.
 * Throws {@link RowsUnavailable} and nothing else.
 */
export class NotificationStore {
  readonly #rows: Rows;
  readonly #rules: StoreRules;

  constructor(rows: Rows, rules: StoreRules) {
    this.#rows = rows;
    this.#rules = rules;
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
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const keyRow = key && (await this.#read(idempotencyRowKey(key.keyHash)));
      const earlier = keyRow && demand(parseIdempotencyRow(keyRow));
      if (earlier !== undefined && now - earlier.createdAt < KEY_HOLDS_MS) {
        return earlier.notificationId === id ? 'created' : { earlier };
      }
      const reserved = await this.#reserve(recipients.filter((recipient) => recipient.reserved).length, now);
      if ('callsLeft' in reserved) return reserved;
      const changes: RowChange[] = [
        ...reserved.changes,
        { kind: 'insert', rowKey: notificationKey(id), values: notificationValues(notification) },
        ...recipients.map((recipient, index) => insertRecipient(id, index, recipient)),
        ...recipients.flatMap((recipient, index) => moveDue(undefined, dueKeyOf(id, index, recipient))),
        ...moveDue(undefined, notificationDue(notification)),
        ...moveDue(undefined, this.#expiry(now, { kind: 'expired_notification', notificationId: id })),
      ];
      if (key !== undefined) {
        const values = idempotencyValues({ notificationId: id, fingerprint: key.fingerprint, createdAt: now });
        changes.push(writeOver(idempotencyRowKey(key.keyHash), values, keyRow));
      }
      if ((await this.#rows.commit(NOTIFICATIONS, changes)) === 'done') return 'created';
      // It may be the conflict with an earlier commit of this very notification, whose answer was lost.
      if ((await this.#read(notificationKey(id))) !== undefined) return 'created';
      await pause(attempt);
    }
    throw new RowsUnavailable('contended');
  }

  /** What a key was used for in the last 24 hours. */
  async earlierUse(keyHash: string, now: number): Promise<IdempotencyRow | undefined> {
    const row = await this.#read(idempotencyRowKey(keyHash));
    const earlier = row && demand(parseIdempotencyRow(row));
    return earlier !== undefined && now - earlier.createdAt < KEY_HOLDS_MS ? earlier : undefined;
  }

  /** A notification with its recipients; undefined where there is none. */
  async read(id: NotificationId): Promise<NotificationWithRecipients | undefined> {
    const rows = await this.#rows.list(NOTIFICATIONS, notificationRange(id));
    return assemble(rows)[0];
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
    return this.#change<Action>(id, index, decide, async () => []);
  }

  /** As `update`, but a call that is not reserved yet is counted among the day's in the same commit. */
  async claim<Action>(
    id: NotificationId,
    index: number,
    decide: (recipient: Recipient) => RecipientStep<Action>,
    now: number,
  ): Promise<Changed<Action | 'no calls left'> | undefined> {
    return this.#change(id, index, decide, async (from, to) => {
      const reserved = await this.#reserve(to.reserved && !from.reserved ? 1 : 0, now);
      return 'callsLeft' in reserved ? 'no calls left' : reserved.changes;
    });
  }

  /**
   * One missed answer is not an outage: a change is tried once more, and one that was made although its answer got lost is known again.
   *
   * @param furtherChanges what is to be committed with it, or why it may not be made
   */
  async #change<Action, Refusal extends string = never>(
    id: NotificationId,
    index: number,
    decide: (recipient: Recipient) => RecipientStep<Action>,
    furtherChanges: (from: Recipient, to: Recipient) => Promise<readonly RowChange[] | Refusal>,
  ): Promise<Changed<Action | Refusal> | undefined> {
    let unclear: Changed<Action> | undefined;
    let hasFailed = false;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      let changed: Changed<Action> | undefined;
      try {
        const row = await this.#read(recipientKey(id, index));
        if (row === undefined) return undefined;
        const recipient = demand(parseRecipientRow(row));
        if (unclear !== undefined && isSame(unclear.recipient, recipient)) return unclear;
        const step = decide(recipient);
        if (step.next === undefined) return { ...step, recipient };
        const more = await furtherChanges(recipient, step.next);
        if (typeof more === 'string') return { action: more, recipient };
        changed = { ...step, recipient: step.next };
        if (await this.#replace(id, index, row, recipient, step.next, more)) return changed;
      } catch (error) {
        if (hasFailed || !(error instanceof RowsUnavailable)) throw error;
        hasFailed = true;
        unclear = changed;
      }
      await pause(attempt);
    }
    throw new RowsUnavailable('contended');
  }

  /** Gives every recipient who still waits without an entry of its own one at that time, and the notification its next one. */
  async enqueue(id: NotificationId, at: number, nextDueAt: number): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const rows = await this.#rows.list(NOTIFICATIONS, notificationRange(id));
      const changes = recipientRows(rows).flatMap(({ index, row, recipient }) =>
        recipient.state === 'waiting' && recipient.dueAt === undefined
          ? [replaceRecipient(id, index, row, recipient, { ...recipient, dueAt: at })]
          : [],
      );
      const done = await this.#commitInChunks(changes);
      if (done && (await this.#moveNotification(rows, nextDueAt))) return;
      await pause(attempt);
    }
    throw new RowsUnavailable('contended');
  }

  /**
   * Completes a notification for whose recipients nothing more will be done: their numbers are masked. Where that is not so, it is
   * looked at again at `nextDueAt`, if that is given.
   */
  async complete(id: NotificationId, now: number, nextDueAt?: number): Promise<'completed' | 'in progress'> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const rows = await this.#rows.list(NOTIFICATIONS, notificationRange(id));
      const [whole] = assemble(rows);
      if (whole === undefined) return 'in progress';
      const isOver = isCompleted(whole.recipients);
      if (!isOver) {
        if (nextDueAt === undefined || (await this.#moveNotification(rows, nextDueAt))) return 'in progress';
      } else {
        if (whole.notification.completedAt !== undefined) return 'in progress';
        const masked = recipientRows(rows).map(({ rowKey, row, recipient }): RowChange => {
          const values = recipientValues({ ...recipient, number: maskPhoneNumber(recipient.number) });
          return { kind: 'replace', rowKey, values, etag: row.etag };
        });
        if (await this.#changeNotification(rows, { dueAt: undefined, completedAt: now }, masked)) return 'completed';
      }
      await pause(attempt);
    }
    throw new RowsUnavailable('contended');
  }

  /** What is due, in the order of its time. */
  async due(now: number): Promise<readonly Due[]> {
    const rows = await this.#rows.list(NOTIFICATIONS, dueUntil(now));
    return rows.flatMap(({ rowKey }) => parseDueKey(rowKey) ?? []);
  }

  /** Has a line looked after that belongs to no recipient. */
  async watchCall(callId: CallId, at: number): Promise<void> {
    await this.#rows.commit(NOTIFICATIONS, moveDue(undefined, dueKey(at, { kind: 'call', callId })));
  }

  /** Replaces an entry about a call; undefined: its rows are kept until they expire. */
  async moveCall(
    { rowKey, callId }: { readonly rowKey: string; readonly callId: CallId },
    at: number | undefined,
  ): Promise<void> {
    const to =
      at === undefined
        ? this.#expiry(Date.now(), { kind: 'expired_call', callId })
        : dueKey(at, { kind: 'call', callId });
    await this.#rows.commit(NOTIFICATIONS, moveDue(rowKey, to));
  }

  /** Has a call's row deleted when it expires, though no recipient will know of it. */
  async forgetCall(callId: CallId): Promise<void> {
    const entry = this.#expiry(Date.now(), { kind: 'expired_call', callId });
    await this.#rows.commit(NOTIFICATIONS, moveDue(undefined, entry));
  }

  /** Drops an entry about something that is not there. */
  async drop({ rowKey }: Due): Promise<void> {
    await this.#rows.delete({ partitionKey: NOTIFICATIONS, rowKey });
  }

  /** Deletes what has expired. Safe to stop at any point: the entry goes last. */
  async deleteExpired(due: Due): Promise<void> {
    if (due.kind === 'expired_call') {
      await this.#rows.delete(callRowAddress(due.callId));
      await this.drop(due);
    } else if (due.kind === 'expired_day') {
      await this.#rows.commit(NOTIFICATIONS, [
        { kind: 'delete', rowKey: dayRowKey(due.day) },
        { kind: 'delete', rowKey: due.rowKey },
      ]);
    } else if (due.kind === 'expired_notification') await this.#deleteNotification(due.notificationId, due.rowKey);
  }

  async #deleteNotification(id: NotificationId, entry: string): Promise<void> {
    const rows = await this.#rows.list(NOTIFICATIONS, notificationRange(id));
    const recipients = recipientRows(rows);
    for (const { recipient } of recipients) {
      for (const { callId } of recipient.attempts)
        if (callId !== undefined) await this.#rows.delete(callRowAddress(callId));
    }
    const notification = rows[0] && parseNotificationRow(rows[0]);
    const keyRow =
      notification?.keyHash === undefined ? undefined : await this.#read(idempotencyRowKey(notification.keyHash));
    // The key may belong to a later notification by now.
    const ownKey = keyRow && parseIdempotencyRow(keyRow)?.notificationId === id ? keyRow.rowKey : undefined;
    // One by one: of what is over, none is there.
    const dueKeys = [
      notification && notificationDue(notification),
      ...recipients.map(({ index, recipient }) => dueKeyOf(id, index, recipient)),
    ];
    for (const rowKey of dueKeys) {
      if (rowKey !== undefined) await this.#rows.delete({ partitionKey: NOTIFICATIONS, rowKey });
    }
    const keys = [...rows.map(({ rowKey }) => rowKey), ownKey, entry];
    await this.#rows.commit(
      NOTIFICATIONS,
      keys.flatMap((rowKey) => (rowKey === undefined ? [] : { kind: 'delete', rowKey })),
    );
  }

  /** The changes that count so many more calls of the day. */
  async #reserve(
    calls: number,
    now: number,
  ): Promise<{ readonly changes: readonly RowChange[] } | { readonly callsLeft: number }> {
    if (calls === 0) return { changes: [] };
    const day = dayOf(now);
    const row = await this.#read(dayRowKey(day));
    const used = row === undefined ? 0 : demand(parseDayRow(row));
    const left = Math.max(0, this.#rules.callsPerDay - used);
    if (calls > left) return { callsLeft: left };
    const written = writeOver(dayRowKey(day), dayValues(used + calls), row);
    return {
      changes:
        row === undefined
          ? [written, ...moveDue(undefined, this.#expiry(now, { kind: 'expired_day', day }))]
          : [written],
    };
  }

  #expiry(now: number, subject: DueSubject): string {
    return dueKey(now + this.#rules.retentionMs, subject);
  }

  async #replace(
    id: NotificationId,
    index: number,
    row: StoredRow,
    from: Recipient,
    to: Recipient,
    more: readonly RowChange[],
  ): Promise<boolean> {
    const changes = [...replaceRecipient(id, index, row, from, to), ...more];
    return (await this.#rows.commit(NOTIFICATIONS, changes)) === 'done';
  }

  async #moveNotification(rows: readonly StoredRow[], dueAt: number): Promise<boolean> {
    return this.#changeNotification(rows, { dueAt });
  }

  async #changeNotification(
    [row]: readonly StoredRow[],
    change: Pick<Notification, 'dueAt'> & Partial<Notification>,
    more: readonly RowChange[] = [],
  ): Promise<boolean> {
    const notification = row && demand(parseNotificationRow(row));
    if (row === undefined || notification === undefined || notification.completedAt !== undefined) return true;
    const next = { ...notification, ...change };
    const changes: readonly RowChange[] = [
      { kind: 'replace', rowKey: row.rowKey, values: notificationValues(next), etag: row.etag },
      ...moveDue(notificationDue(notification), notificationDue(next)),
      ...more,
    ];
    return (await this.#rows.commit(NOTIFICATIONS, changes)) === 'done';
  }

  async #commitInChunks(changes: readonly (readonly RowChange[])[]): Promise<boolean> {
    for (let start = 0; start < changes.length; start += RECIPIENTS_A_COMMIT) {
      const chunk = changes.slice(start, start + RECIPIENTS_A_COMMIT).flat();
      if ((await this.#rows.commit(NOTIFICATIONS, chunk)) === 'conflict') return false;
    }
    return true;
  }

  #read(rowKey: string): Promise<StoredRow | undefined> {
    return this.#rows.read({ partitionKey: NOTIFICATIONS, rowKey }, 'patient');
  }
}

// As they are stored: what is undefined is not.
const isSame = (one: Recipient, other: Recipient): boolean =>
  JSON.stringify(recipientValues(one)) === JSON.stringify(recipientValues(other));

const pause = (attempt: number): Promise<void> => sleep(Math.random() * LONGEST_PAUSE_MS * attempt);

/** @throws {RowsUnavailable} for a row that is damaged or of another version */
const demand = <Parsed>(parsed: Parsed | undefined): Parsed => {
  if (parsed === undefined) throw new RowsUnavailable('unknown row');
  return parsed;
};

const notificationDue = ({ id, dueAt }: Notification): string | undefined =>
  dueAt === undefined ? undefined : dueKey(dueAt, { kind: 'notification', notificationId: id });

const writeOver = (rowKey: string, values: ReturnType<typeof dayValues>, earlier: StoredRow | undefined): RowChange =>
  earlier === undefined ? { kind: 'insert', rowKey, values } : { kind: 'replace', rowKey, values, etag: earlier.etag };

const insertRecipient = (id: NotificationId, index: number, recipient: Recipient): RowChange => ({
  kind: 'insert',
  rowKey: recipientKey(id, index),
  values: recipientValues(recipient),
});

const replaceRecipient = (
  id: NotificationId,
  index: number,
  { etag }: StoredRow,
  from: Recipient,
  to: Recipient,
): readonly RowChange[] => [
  { kind: 'replace', rowKey: recipientKey(id, index), values: recipientValues(to), etag },
  ...moveDue(dueKeyOf(id, index, from), dueKeyOf(id, index, to)),
];

interface RecipientRow {
  readonly rowKey: string;
  readonly index: number;
  readonly row: StoredRow;
  readonly recipient: Recipient;
}

const recipientRows = (rows: readonly StoredRow[]): readonly RecipientRow[] =>
  rows.flatMap((row) => {
    const index = /\|(\d\d)$/.exec(row.rowKey)?.[1];
    return index === undefined
      ? []
      : [{ rowKey: row.rowKey, index: Number(index), row, recipient: demand(parseRecipientRow(row)) }];
  });

/** Neighbouring rows → notifications, each with the recipients that follow it. */
const assemble = (rows: readonly StoredRow[]): readonly NotificationWithRecipients[] => {
  const found: { notification: Notification; recipients: Recipient[] }[] = [];
  for (const row of rows) {
    const isRecipient = /\|\d\d$/.test(row.rowKey);
    if (isRecipient) found.at(-1)?.recipients.push(demand(parseRecipientRow(row)));
    else found.push({ notification: demand(parseNotificationRow(row)), recipients: [] });
  }
  return found;
};
