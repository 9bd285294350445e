import type { RowWrite } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The table that all processes share. It remembers which attempt was committed when. */
export class WatchedTable extends MemoryTable {
  readonly #now: () => number;
  readonly #attempts = new Map<string, number>();

  constructor(now: () => number) {
    super(now);
    this.#now = now;
  }

  /** When an attempt was claimed, in milliseconds since 1970; undefined: never. */
  claimOf(attemptId: string): number | undefined {
    return this.#attempts.get(attemptId);
  }

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, writes);
    for (const write of writes) {
      if (write.kind === 'delete') continue;
      for (const [id] of JSON.stringify(write.properties).matchAll(UUID))
        if (!this.#attempts.has(id)) this.#attempts.set(id, this.#now());
    }
    return etags;
  }
}
