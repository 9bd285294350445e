import type { KeyRange } from '../../src/analytics/rows/keys.ts';
import type { StoredRow } from '../../src/analytics/rows/row.ts';
import { CounterTable, type ReadOptions } from '../../src/analytics/rows/table.ts';

/** Counts reads of storage. */
export class WatchedTable extends CounterTable {
  rows = 0;
  queries = 0;

  override async get(partition: string, rowKey: string, select?: readonly string[]): Promise<StoredRow | undefined> {
    this.rows += 1;
    return super.get(partition, rowKey, select);
  }

  override pages(
    partition: string,
    range: KeyRange,
    options?: ReadOptions,
  ): AsyncGenerator<readonly StoredRow[], void, unknown> {
    this.queries += 1;
    return super.pages(partition, range, options);
  }
}
