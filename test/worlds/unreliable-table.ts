import type { Page, PageQuery, Selection, TableConnection } from '../../src/storage/connection.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import type { KeyRange, RowWrite, StoredRow } from '../../src/storage/row.ts';
import type { Chance } from './chance.ts';
import type { Life, Travel } from './life.ts';

/** How storage treats the requests of one process. */
export interface TableConditions {
  /** That a request or its answer is lost, or is answered 503. */
  readonly faults: number;
  readonly isOutage: boolean;
}

/** What a table with faults needs. */
export interface UnreliableTableParts {
  /** Shared by all processes; it has no faults. */
  readonly table: TableConnection;
  readonly life: Life;
  readonly chance: Chance;
  readonly conditions: () => TableConditions;
  /** Told of each request; says whether the process ends at it. */
  readonly onRequest: () => Travel['death'];
}

/** The shared table as one process reaches it: requests and answers take time and get lost, and storage has outages. */
export class UnreliableTable implements TableConnection {
  readonly #parts: UnreliableTableParts;

  constructor(parts: UnreliableTableParts) {
    this.#parts = parts;
  }

  get(partition: string, row: string, selection: Selection, signal: AbortSignal): Promise<StoredRow | undefined> {
    return this.#ask((table) => table.get(partition, row, selection, signal));
  }

  page(partition: string, range: KeyRange, query: PageQuery, signal: AbortSignal): Promise<Page> {
    return this.#ask((table) => table.page(partition, range, query, signal));
  }

  transact(partition: string, writes: readonly RowWrite[], signal: AbortSignal): Promise<readonly string[]> {
    return this.#ask((table) => table.transact(partition, writes, signal));
  }

  create(signal: AbortSignal): Promise<void> {
    return this.#ask((table) => table.create(signal));
  }

  #ask<Answer>(carryOut: (table: TableConnection) => Promise<Answer>): Promise<Answer> {
    const { table, life, chance, conditions, onRequest } = this.#parts;
    const isOutage = () => conditions().isOutage;
    const { faults } = conditions();
    const fault = chance.byProbability([
      [faults / 3, 'request'],
      [faults / 3, 'answer'],
      [faults / 3, 'refused'],
    ]);
    const death = onRequest();
    const travel: Travel = {
      thereMs: chance.between(1, 20),
      backMs: chance.between(1, 20),
      death,
      lost: fault === 'refused' ? undefined : fault,
      // A broken connection is noticed at once; of a lost packet the process is told nothing, and it has a deadline.
      told: chance.happens(0.5)
        ? { afterMs: 10, error: new StorageTrouble(0, { reason: 'connection lost' }) }
        : undefined,
    };
    const hangs = chance.happens(0.5);
    return life.request(travel, async () => {
      if (isOutage() && hangs) return new Promise<never>(() => undefined);
      if (isOutage() || fault === 'refused')
        throw new StorageTrouble(chance.happens(0.3) ? 1_000 : 0, { reason: '503' });
      return carryOut(table);
    });
  }
}
