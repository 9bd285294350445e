import { StorageTrouble } from '../../storage/errors.ts';
import type { Clock } from '../model/clock.ts';
import { whyWaiting } from '../rules/queue.ts';
import type { NotificationCase } from '../state/notification.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import { queueOf } from '../store/snapshot.ts';

/** Tells why people wait, from the queue as it is now. */
export class Waits {
  readonly #store: NotificationStore;
  readonly #clock: Clock;

  constructor(store: NotificationStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Why those of a notification wait who could be dialled now, by their index. Empty without the table. */
  async whyOf(known: NotificationCase): Promise<ReadonlyMap<number, string>> {
    const now = this.#clock.now();
    const own = queueOf(known).filter(({ dueAt, hadNoLine }) => dueAt <= now || hadNoLine === true);
    if (own.length === 0) return new Map();
    try {
      const { queue, open, line } = await this.#store.look(now);
      return new Map(own.map((one) => [one.index, whyWaiting(one, queue, open, line, now)]));
    } catch (error) {
      if (error instanceof StorageTrouble) return new Map();
      throw error;
    }
  }
}
