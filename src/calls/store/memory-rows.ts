import type { CommitResult, KeyRange, RowAddress, RowChange, Rows, RowValues, StoredRow } from './rows.ts';

/**
 * Rows in the memory of this process, for notifications that come while the table cannot be used: an alert is placed all the same. They
 * end with the process.
 */
export class MemoryRows implements Rows {
  readonly #partitions = new Map<string, Map<string, StoredRow>>();
  #version = 0;

  /** Whether there are any. */
  get isEmpty(): boolean {
    return this.#partitions.size === 0;
  }

  async read({ partitionKey, rowKey }: RowAddress): Promise<StoredRow | undefined> {
    return this.#partitions.get(partitionKey)?.get(rowKey);
  }

  async write({ partitionKey, rowKey }: RowAddress, values: RowValues, readEtag?: string): Promise<string | undefined> {
    const change: RowChange =
      readEtag === undefined ? { kind: 'insert', rowKey, values } : { kind: 'replace', rowKey, values, etag: readEtag };
    await this.commit(partitionKey, [change]);
    const written = this.#partitions.get(partitionKey)?.get(rowKey);
    return written?.values === values ? written.etag : undefined;
  }

  async list(partitionKey: string, { from, to }: KeyRange, mostRows = Infinity): Promise<readonly StoredRow[]> {
    return [...(this.#partitions.get(partitionKey)?.values() ?? [])]
      .filter(({ rowKey }) => rowKey >= from && rowKey <= to)
      .toSorted((one, other) => (one.rowKey < other.rowKey ? -1 : 1))
      .slice(0, mostRows);
  }

  async commit(partitionKey: string, changes: readonly RowChange[]): Promise<CommitResult> {
    const rows = this.#partitions.get(partitionKey) ?? new Map<string, StoredRow>();
    const fits = changes.every((change) => {
      const row = rows.get(change.rowKey);
      if (change.kind === 'insert') return row === undefined;
      return change.kind === 'replace' ? row?.etag === change.etag : row !== undefined;
    });
    if (!fits) return 'conflict';
    for (const change of changes) {
      if (change.kind === 'delete') rows.delete(change.rowKey);
      else {
        this.#version += 1;
        rows.set(change.rowKey, { rowKey: change.rowKey, values: change.values, etag: String(this.#version) });
      }
    }
    if (rows.size === 0) this.#partitions.delete(partitionKey);
    else this.#partitions.set(partitionKey, rows);
    return 'done';
  }

  async delete({ partitionKey, rowKey }: RowAddress): Promise<void> {
    if (this.#partitions.get(partitionKey)?.has(rowKey) === true) {
      await this.commit(partitionKey, [{ kind: 'delete', rowKey }]);
    }
  }
}
