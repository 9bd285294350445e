import type { Page, PageQuery, Selection, TableConnection } from '../../../src/storage/connection.ts';
import type { KeyRange, RowWrite, StoredRow } from '../../../src/storage/row.ts';
import type { MemoryTable } from '../../storage/memory-table.ts';

/** When something was committed. */
export interface Commit {
  /** From 1, in the order of all commits. */
  readonly number: number;
  /** In milliseconds since 1970. */
  readonly at: number;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The table that all processes share. It remembers which commit brought which attempt, and lets a watcher look after each commit. */
export class WatchedTable implements TableConnection {
  readonly #table: MemoryTable;
  readonly #now: () => number;
  readonly #attempts = new Map<string, Commit>();
  #commits = 0;
  /** Called after each commit, before anything else happens. */
  watch: (commit: Commit, rowKeys: readonly string[]) => Promise<void> = async () => undefined;

  constructor(table: MemoryTable, now: () => number) {
    this.#table = table;
    this.#now = now;
  }

  /** The last commit so far. */
  get last(): Commit {
    return { number: this.#commits, at: this.#now() };
  }

  /** The commit by which an attempt was claimed; undefined if it never was. */
  claimOf(attemptId: string): Commit | undefined {
    return this.#attempts.get(attemptId);
  }

  get(partition: string, row: string, selection: Selection): Promise<StoredRow | undefined> {
    return this.#table.get(partition, row, selection);
  }

  page(partition: string, range: KeyRange, query: PageQuery): Promise<Page> {
    return this.#table.page(partition, range, query);
  }

  create(): Promise<void> {
    return this.#table.create();
  }

  async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await this.#table.transact(partition, writes);
    this.#commits += 1;
    const commit = this.last;
    for (const write of writes) {
      if (write.kind === 'delete') continue;
      for (const [id] of JSON.stringify(write.properties).matchAll(UUID)) {
        if (!this.#attempts.has(id)) this.#attempts.set(id, commit);
      }
    }
    await this.watch(
      commit,
      writes.map(({ rowKey }) => rowKey),
    );
    return etags;
  }
}
