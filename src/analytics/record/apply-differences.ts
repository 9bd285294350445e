import { setTimeout } from 'node:timers/promises';

import { backoffMs, WriteConflict } from '../rows/storage-errors.ts';
import type { CounterTable } from '../rows/table.ts';
import type { CounterDifferences } from './counter-differences.ts';
import { planCounters } from './counter-plan.ts';
import { KnownRows } from './known-rows.ts';
import { ShardRows } from './shard-rows.ts';
import { StaleSnapshot } from './shard-snapshot.ts';
import { wantedByDifferences } from './wanted-rows.ts';

const TRIES = 20;

/**
 * Adds differences to counters of a shard, in one transaction, in a stripe that no other writer uses: nothing that others may be
 * writing is rewritten. Not repeatable: where the answer is lost, compare again before anything else is added.
 *
 * @param differences few enough for one transaction: at most 90 rows
 * @throws {WriteConflict | StaleSnapshot} where others always came first
 * @throws {StorageTrouble | DamagedRow | DayClosed} after trouble they may have been added or not
 */
export const applyDifferences = async (
  table: CounterTable,
  partition: string,
  differences: CounterDifferences,
): Promise<void> => {
  const rows = new ShardRows(
    table,
    partition,
    new KnownRows().ofShard(partition),
    { stripe: 0 },
    {
      knownCategories: new Set(),
      onEmpty: async () => undefined,
    },
  );
  for (let tries = 1; ; tries += 1) {
    await rows.move();
    try {
      const snapshot = await rows.snapshot(wantedByDifferences(differences));
      await table.transact(partition, planCounters(snapshot, differences).writes);
      return;
    } catch (error) {
      if (tries === TRIES || !(error instanceof WriteConflict || error instanceof StaleSnapshot)) throw error;
      await setTimeout(backoffMs(tries, 10, 200));
    }
  }
};
