import { StorageTrouble } from '../../storage/errors.ts';
import { fittingInFront, type Batch, type Pending } from './batch.ts';

/** Most messages that wait for one shard, so that one in trouble does not use up what may wait in all. */
const MAX_WAITING = 20_000;

/** The messages that wait for a transaction of their shard, in the order of their arrival. */
export class PendingQueue {
  #pending: Pending[] = [];

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /** Throws where one more message cannot wait. @throws {StorageTrouble} */
  checkRoom(): void {
    if (this.#pending.length >= MAX_WAITING) throw new StorageTrouble(0);
  }

  add(pending: Pending): void {
    this.#pending.push(pending);
  }

  /** Takes as many messages from the front as fit into a transaction, and says whether they fill it. */
  take(): { readonly batch: Batch; readonly full: boolean } {
    const count = fittingInFront(this.#pending);
    const full = count < this.#pending.length;
    return { batch: this.#pending.splice(0, count), full };
  }

  /** Takes all messages. */
  takeAll(): Batch {
    return this.#pending.splice(0);
  }

  /** Puts messages back to the front. */
  putBack(batch: Batch): void {
    this.#pending.unshift(...batch);
  }
}
