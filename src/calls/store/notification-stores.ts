import type { NotificationId } from '../notification-id.ts';
import { MemoryRows } from './memory-rows.ts';
import type { StoreRules } from './day-calls.ts';
import { NotificationStore } from './notification-store.ts';
import type { Rows } from './rows.ts';

/**
 * Where notifications are: in the table, and in this process those that came while the table could not be used. An alert that is lost
 * with its process is better than one that is not placed at all.
 */
export class NotificationStores {
  readonly table: NotificationStore;
  readonly memory: NotificationStore;
  readonly #memoryRows = new MemoryRows();
  readonly #inMemory = new Set<NotificationId>();

  constructor(rows: Rows, rules: StoreRules) {
    this.table = new NotificationStore(rows, rules);
    this.memory = new NotificationStore(this.#memoryRows, rules);
  }

  /** The store that has a notification. */
  of(id: NotificationId): NotificationStore {
    return this.#inMemory.has(id) ? this.memory : this.table;
  }

  /** Those in which anything can be due. */
  inUse(): readonly NotificationStore[] {
    return this.#memoryRows.isEmpty ? [this.table] : [this.memory, this.table];
  }

  /** From now on this notification is in memory. */
  keepInMemory(id: NotificationId): void {
    this.#inMemory.add(id);
  }
}
