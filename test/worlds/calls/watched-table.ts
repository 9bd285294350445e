import type { RowWrite } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';

/** When something was committed. */
export interface Commit {
  /** From 1, in the order of all commits. */
  readonly number: number;
  /** In milliseconds since 1970. */
  readonly at: number;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The table that all processes share. It remembers which commit brought which attempt, and lets a watcher look after each commit. */
export class WatchedTable extends MemoryTable {
  readonly #now: () => number;
  readonly #attempts = new Map<string, Commit>();
  readonly #rows = new Map<string, Commit>();
  #commits = 0;
  /** Called after each commit, before anything else happens. */
  watch: (commit: Commit, rowKeys: readonly string[]) => Promise<void> = async () => undefined;

  constructor(now: () => number) {
    super(now);
    this.#now = now;
  }

  /** The last commit so far. */
  get last(): Commit {
    return { number: this.#commits, at: this.#now() };
  }

  /** The commit that brought a row. */
  firstOf(rowKey: string): Commit | undefined {
    return this.#rows.get(rowKey);
  }

  /** The commit by which an attempt was claimed; undefined if it never was. */
  claimOf(attemptId: string): Commit | undefined {
    return this.#attempts.get(attemptId);
  }

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, writes);
    this.#commits += 1;
    const commit = this.last;
    for (const write of writes) {
      if (write.kind === 'delete') continue;
      if (write.kind === 'insert') this.#rows.set(write.rowKey, commit);
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
