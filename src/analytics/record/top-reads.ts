import { DamagedRow } from '../../storage/errors.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { bucketsFrom } from '../rows/hour-rows.ts';
import { camerasKey, HOURS_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import { readTotal, stateFrom, STATE_PROPERTIES } from '../rows/total-row.ts';
import type { OwnStripe } from './own-stripe.ts';
import type { RowReads } from './row-reads.ts';
import type { KnownRow } from './shard-snapshot.ts';

/** The rows that say which others a stripe has. */
export interface Top {
  readonly total: KnownRow;
  readonly hours: KnownRow;
}

/**
 * The `total` and the `hours` row of the writer's stripe. Where the stripe has no commit and may not get one, the stripe is another
 * one afterwards.
 *
 * @throws {StorageTrouble | DamagedRow | DayClosed}
 */
export const topOf = async (reads: RowReads, own: OwnStripe): Promise<Top> => {
  const { table, partition, known } = reads;
  for (;;) {
    const at = (key: string): string => inStripe(key, own.number);
    const [total, hours] = [known.get(at(TOTAL_KEY)), known.get(at(HOURS_KEY))];
    if (total !== undefined && hours !== undefined) return { total, hours };
    if (own.isNew) return { total: known.keep(at(TOTAL_KEY), undefined), hours: known.keep(at(HOURS_KEY), undefined) };
    const [stored, hoursRow] = await Promise.all([readTotal(table, partition, own.number), reads.one(at(HOURS_KEY))]);
    if (stored !== undefined) {
      if (stored.closed) throw new DayClosed();
      await checkAnnounced(reads, own.number);
      const { etag, lists, ...value } = stored;
      for (const [index, list] of lists.entries()) {
        known.set(at(camerasKey(index + 1)), { kind: 'list', etag: list.etag });
      }
      known.set(at(TOTAL_KEY), { kind: 'total', etag, value });
    } else if (await own.mayStart()) {
      known.keep(at(TOTAL_KEY), undefined);
    } else {
      continue;
    }
    known.keep(at(HOURS_KEY), hoursRow && { kind: 'buckets', etag: hoursRow.etag, value: bucketsFrom(hoursRow) });
  }
};

/** What was counted in a stripe that stripe 0 does not announce would be in no answer. Only damage leaves such rows. @throws {DamagedRow} */
const checkAnnounced = async ({ table, partition }: RowReads, stripe: number): Promise<void> => {
  if (stripe === 0) return;
  const first = await table.get(partition, TOTAL_KEY, { select: STATE_PROPERTIES });
  if (first !== undefined && stateFrom(first).stripes > stripe) return;
  throw new DamagedRow(partition, inStripe(TOTAL_KEY, stripe), 'the shard does not have its stripe');
};
