import { TOTAL_KEY } from '../rows/keys.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import type { CounterTable } from '../rows/table.ts';
import { STATE_PROPERTIES, stateFrom } from '../rows/total-row.ts';
import { decodedOr, DAMAGED } from './findings.ts';

/** The version of a shard, and how many stripes it has; 0: no rows. */
export interface ShardVersion {
  readonly version: string;
  readonly stripes: number;
  /** Whether the day is closed: event rows are deleted then. */
  readonly closed: boolean;
}

/** Reads the version of a shard: every commit writes the `total` row of its stripe. @throws {StorageTrouble} */
export const readShardVersion = async (table: CounterTable, partition: string): Promise<ShardVersion> => {
  const first = await table.get(partition, TOTAL_KEY, STATE_PROPERTIES);
  if (first === undefined) return { version: '', stripes: 0, closed: false };
  const state = decodedOr(() => stateFrom(first));
  const stripes = state === DAMAGED ? 1 : state.stripes;
  const more = await Promise.all(
    Array.from({ length: stripes - 1 }, async (_, index) =>
      table.get(partition, inStripe(TOTAL_KEY, index + 1), STATE_PROPERTIES),
    ),
  );
  const closed = state !== DAMAGED && state.closed;
  return { closed, version: [first, ...more].map((row) => row?.etag ?? '').join('\n'), stripes };
};
