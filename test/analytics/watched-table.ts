import type { StoredRow } from '../../src/storage/row.ts';
import { Table } from '../../src/storage/table.ts';

/** Counts reads of storage. */
export class WatchedTable extends Table {
  rows = 0;
  queries = 0;

  override async get(...args: Parameters<Table['get']>): Promise<StoredRow | undefined> {
    this.rows += 1;
    return super.get(...args);
  }

  override pages(...args: Parameters<Table['pages']>): ReturnType<Table['pages']> {
    this.queries += 1;
    return super.pages(...args);
  }
}
