import { unlessDamaged } from '../../storage/errors.ts';
import type { KeyRange } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { ALL_PARTITIONS, parsePartition } from './keys.ts';

/** A shard of a day that has rows. */
export interface ShardPartition {
  readonly partition: string;
  readonly day: Day;
  readonly shard: number;
}

/** The shards of days that have rows, oldest day first: one query for each. Partitions with other names are ignored. */
export async function* shardPartitions(
  table: Table,
  { from, before }: KeyRange = ALL_PARTITIONS,
): AsyncGenerator<ShardPartition> {
  for (let next = from; ;) {
    const partition = await table.firstPartition({ from: next, before });
    if (partition === undefined) return;
    const parsed = unlessDamaged(() => parsePartition(partition));
    if (parsed !== undefined) yield { partition, ...parsed };
    // `!` comes before every character of a partition's key.
    next = `${partition}!`;
  }
}
