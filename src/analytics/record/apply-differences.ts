import { setTimeout } from 'node:timers/promises';

import { WriteConflict } from '../../storage/errors.ts';
import type { RowWrite } from '../../storage/row.ts';
import { type Table, backoffMs } from '../../storage/table.ts';
import type { CounterDifferences } from './counter-differences.ts';
import { planCounters } from './counter-plan.ts';
import { KnownRows } from './known-rows.ts';
import { ShardRows } from './shard-rows.ts';
import { StaleSnapshot } from './shard-snapshot.ts';
import { wantedByDifferences } from './wanted-rows.ts';

const TRIES = 20;

/**
 * Adds differences to counters of a shard, in a stripe that no other writer uses: nothing that others may be writing is rewritten,
 * and a difference stays right whatever they add.
 */
export class DifferenceWriter {
  readonly #table: Table;
  readonly #partition: string;
  readonly #rows: ShardRows;
  #hasStripe = false;

  constructor(table: Table, partition: string) {
    this.#table = table;
    this.#partition = partition;
    this.#rows = new ShardRows(
      table,
      partition,
      new KnownRows().ofShard(partition),
      { stripe: 0 },
      { knownCategories: new Set(), onEmpty: async () => undefined },
    );
  }

  /**
   * Adds differences in one transaction.
   *
   * @param differences few enough for one transaction: at most 90 rows
   * @param guard a write of another row of the partition, in the same transaction. Where it fails, nothing is added
   * @returns the new version of the guarded row
   * @throws {WriteConflict} where the guarded row had changed, or other writers always came first
   * @throws {StaleSnapshot} where the rows of the stripe do not fit together
   * @throws {StorageTrouble | DamagedRow | DayClosed} after trouble they may have been added or not: compare again
   */
  async add(differences: CounterDifferences, guard: RowWrite): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      if (!this.#hasStripe) await this.#rows.move();
      this.#hasStripe = true;
      let guarded: number | undefined;
      try {
        const plan = planCounters(await this.#rows.snapshot(wantedByDifferences(differences)), differences);
        guarded = plan.writes.length;
        const writes = [...plan.writes, guard];
        const etags = await this.#table.transact(this.#partition, writes);
        const byKey = new Map(writes.map(({ rowKey }, index) => [rowKey, etags[index] ?? '']));
        this.#rows.apply(plan, (rowKey) => byKey.get(rowKey) ?? '');
        return etags[guarded] ?? '';
      } catch (error) {
        this.#hasStripe = false;
        const isConflict = error instanceof WriteConflict && error.index !== guarded;
        if (tries === TRIES || !(isConflict || error instanceof StaleSnapshot)) throw error;
        await setTimeout(backoffMs(tries, 10, 200));
      }
    }
  }
}
