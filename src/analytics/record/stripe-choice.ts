import { TOTAL_KEY } from '../rows/keys.ts';
import type { Fence } from '../rows/fence-row.ts';
import { inStripe, MAX_STRIPES } from '../rows/stripe-keys.ts';
import type { Table } from '../../storage/table.ts';

/** A stripe whose latest commit is so much older than the newest of its shard is idle: its instance left, or hardly writes. */
const IDLE_MS = 15_000;

/** When a stripe was last written, in milliseconds since 1970 by the clock of storage. */
export interface StripeTime {
  readonly stripe: number;
  readonly written: number;
}

/**
 * The stripe for a writer that met another one in its own: an idle stripe, one of several at random so that two writers who move
 * at the same time rarely meet again; else a new one; else, where there can be no more, any other.
 *
 * @param stripes how many the shard has
 * @param random from 0 to less than 1
 */
export const chooseStripe = (
  times: readonly StripeTime[],
  current: number,
  stripes: number,
  random: number = Math.random(),
): number => {
  const newest = Math.max(...times.map(({ written }) => written));
  const others = times.filter(({ stripe }) => stripe !== current);
  const idle = others.filter(({ written }) => newest - written >= IDLE_MS);
  if (idle.length === 0 && stripes < MAX_STRIPES) return stripes;
  const choice = idle.length > 0 ? idle : others;
  return choice[Math.floor(random * choice.length)]?.stripe ?? current;
};

/** When each stripe of a shard was last written, by keys: a query may cost more, and tells no more. @throws {StorageTrouble} */
export const readStripeTimes = async (
  table: Table,
  partition: string,
  { stripes }: Fence,
): Promise<readonly StripeTime[]> => {
  const rows = await Promise.all(
    Array.from({ length: stripes }, async (_, stripe) =>
      table.get(partition, inStripe(TOTAL_KEY, stripe), { select: ['Timestamp'] }),
    ),
  );
  return rows.flatMap((row, stripe) => {
    const written = Date.parse(String(row?.properties['timestamp']));
    return Number.isNaN(written) ? [] : [{ stripe, written }];
  });
};
