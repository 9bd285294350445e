import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { instantFrom, sortableInstant } from '../model/instant.ts';
import { dayPartition, OPEN_DAYS_PARTITION, SHARDS_KEY } from '../rows/keys.ts';
import { CLOSES, IS_REPAIRING, REPAIR_UNTIL, storageNow } from '../rows/open-days.ts';
import type { AuditReport } from './audit.ts';

/** The day is closed, or its closing is announced: its event rows are deleted, and counters that are counted from them would become zero. */
export class NotRepairable extends Error {
  override readonly name = 'NotRepairable';
}

/** How long a lease lasts, in microseconds. */
const LEASE = 90_000_000n;
/** Of a lease so much must be left when a transaction is sent: much longer than one is ever under way. */
const LEFT = (LEASE * 2n) / 3n;

/**
 * Keeps a day from being closed while it is repaired: a lease in its row of the index of open days, at whose version nobody has announced
 * the closing. A repair that is stopped leaves a mark there, which keeps the day open until a repair has finished: rows may be set aside.
 */
export class RepairLease {
  readonly #table: Table;
  readonly #day: Day;
  readonly #isUnlisted: boolean;
  /** The version that this repair wrote last; undefined: nothing yet, or another process wrote the row. */
  #etag: string | undefined;

  /** @param audited whether the day is open, and has lost its row of the index: it gets it back */
  constructor(table: Table, { day, isUnlisted }: Pick<AuditReport, 'day' | 'isUnlisted'>) {
    this.#table = table;
    this.#day = day;
    this.#isUnlisted = isUnlisted;
  }

  /**
   * Renews the lease. Every transaction of a repair comes right after it.
   *
   * @throws {NotRepairable} if the closing is announced, or the day is closed
   * @throws {StorageTrouble} if storage does not answer, or so late that too little of the lease is left
   */
  async renew(): Promise<void> {
    for (;;) {
      const etag = this.#etag ?? (await this.#read())?.etag;
      const until = storageNow(this.#table) + LEASE;
      const renewed = { [REPAIR_UNTIL]: sortableInstant(instantFrom(until)), [IS_REPAIRING]: true };
      if (!(await this.#write(etag, renewed))) continue;
      if (until - storageNow(this.#table) < LEFT) throw new StorageTrouble(0, { reason: 'slow' });
      return;
    }
  }

  /**
   * Notes that the day is right, as an audit found after the last renewal. Where another repair has renewed the lease since, that one notes
   * it. The lease itself goes on: a transaction of another repair may be under way.
   *
   * @throws {NotRepairable} if the closing was announced meanwhile
   * @throws {StorageTrouble}
   */
  async finish(): Promise<void> {
    const etag = this.#etag ?? (await this.#read())?.etag;
    if (etag !== undefined && !(await this.#write(etag, { [IS_REPAIRING]: false }))) await this.#read();
  }

  async #read() {
    const row = await this.#table.get(OPEN_DAYS_PARTITION, this.#day);
    const manifest = await this.#table.get(dayPartition(this.#day), SHARDS_KEY, { select: [CLOSES] });
    const isAnnounced = [row, manifest].some((one) => one?.properties[CLOSES] !== undefined);
    if (isAnnounced || (row === undefined && !this.#isUnlisted)) {
      throw new NotRepairable('the day is closed, or its closing is announced: it cannot be repaired');
    }
    return row;
  }

  /** @returns false: another process wrote the row */
  async #write(etag: string | undefined, properties: Readonly<Record<string, string | boolean>>): Promise<boolean> {
    try {
      [this.#etag] = await this.#table.transact(OPEN_DAYS_PARTITION, [writeOf(this.#day, etag, properties)]);
      return true;
    } catch (error) {
      this.#etag = undefined;
      if (error instanceof WriteConflict) return false;
      throw error;
    }
  }
}
