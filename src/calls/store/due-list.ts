import type { CallId } from '../call-id.ts';
import { deleteExpired } from './expired-rows.ts';
import { type Due, dueKey, dueUntil, moveDue, parseDueKey } from './due-rows.ts';
import { NOTIFICATIONS } from './notification-rows.ts';
import type { Rows } from './rows.ts';

/**
 * What is due, and the entries that belong to no recipient's row and no notification's: those change with their row, in
 * `NotificationStore`. Throws {@link RowsUnavailable} and nothing else.
 */
export class DueList {
  readonly #rows: Rows;
  readonly #retentionMs: number;

  /** @param retentionMs how long rows about calls are kept, in milliseconds */
  constructor(rows: Rows, retentionMs: number) {
    this.#rows = rows;
    this.#retentionMs = retentionMs;
  }

  /** What is due at a time, in the order of its time. */
  async until(now: number): Promise<readonly Due[]> {
    const rows = await this.#rows.list(NOTIFICATIONS, dueUntil(now));
    return rows.flatMap(({ rowKey }) => parseDueKey(rowKey) ?? []);
  }

  /** Has a line looked after that belongs to no recipient. */
  async watchCall(callId: CallId, at: number): Promise<void> {
    await this.#move(undefined, dueKey(at, { kind: 'call', callId }));
  }

  /** Replaces an entry about a call; undefined: its rows are kept until they expire. */
  async moveCall(
    { rowKey, callId }: { readonly rowKey: string; readonly callId: CallId },
    at: number | undefined,
  ): Promise<void> {
    await this.#move(rowKey, at === undefined ? this.#expiry(callId) : dueKey(at, { kind: 'call', callId }));
  }

  /** Has a call's row deleted when it expires, though no recipient will know of it. */
  async forgetCall(callId: CallId): Promise<void> {
    await this.#move(undefined, this.#expiry(callId));
  }

  /** Drops an entry about something that is not there. */
  async drop({ rowKey }: Due): Promise<void> {
    await this.#rows.delete({ partitionKey: NOTIFICATIONS, rowKey });
  }

  /** Deletes what has expired. Safe to stop at any point: the entry goes last. */
  async deleteExpired(due: Due): Promise<void> {
    await deleteExpired(this.#rows, due);
  }

  #expiry(callId: CallId): string {
    return dueKey(Date.now() + this.#retentionMs, { kind: 'expired_call', callId });
  }

  async #move(from: string | undefined, to: string): Promise<void> {
    await this.#rows.commit(NOTIFICATIONS, moveDue(from, to));
  }
}
