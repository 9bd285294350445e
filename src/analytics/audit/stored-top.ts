import { readFence, type Fence } from '../rows/fence-row.ts';
import { bucketsFrom, type HoursRow } from '../rows/hour-rows.ts';
import { ALL_CAMERA_LISTS, HOURS_AND_HOUR_ROWS, HOURS_KEY, parseHourKey, TOTAL_KEY } from '../rows/keys.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { inStripe, stripesOf } from '../rows/stripe-keys.ts';
import { readTotal, totalFrom, type StoredTotal } from '../rows/total-row.ts';
import { keyed, type AuditedRow } from './audited-row.ts';
import { damageOf, type Stored } from './findings.ts';
import { pause } from './random-pause.ts';

/** The rows of one stripe of a shard that are not about single minutes or cameras. */
export interface StripeTop {
  readonly stripe: number;
  readonly total: Stored<StoredTotal>;
  readonly hours: Stored<AuditedRow<HoursRow>>;
  /** By hour of the day. */
  readonly hourRows: ReadonlyMap<number, Stored<AuditedRow<HoursRow>>>;
}

/** What was read together of a shard. */
export interface ShardTop {
  /** By their numbers. */
  readonly stripes: readonly StripeTop[];
  /** The fence; undefined: the shard has none. */
  readonly fence: Stored<Fence>;
  /** Keys in the same ranges that the service never writes. */
  readonly strays: readonly string[];
}

const TOP_TRIES = 40;

/** Where a row of the range of {@link HOURS_AND_HOUR_ROWS} stands: the hour of the day, or `hours`. */
const parseHoursOrHourKey = (key: string): number | 'hours' => (key === HOURS_KEY ? 'hours' : parseHourKey(key));

const versionsOf = (rows: readonly StoredRow[]): string =>
  rows.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n');

/**
 * Reads the totals, the fence, the hours and the hour rows of a shard, and which stripes have camera lists, as they were at one
 * moment: every commit changes a total.
 *
 * @returns undefined where a total changed during every try
 * @throws {StorageTrouble}
 */
export const readTop = async (table: Table, partition: string): Promise<ShardTop | undefined> => {
  for (let tries = 1; tries <= TOP_TRIES; tries += 1) {
    const totals = await table.all(partition, stripesOf(TOTAL_KEY));
    const fence = await readFence(table, partition).catch(damageOf);
    const rows = await table.all(partition, HOURS_AND_HOUR_ROWS);
    const lists = await table.all(partition, ALL_CAMERA_LISTS, { select: [] });
    const after = await table.all(partition, stripesOf(TOTAL_KEY), { select: [] });
    if (versionsOf(totals) === versionsOf(after)) return topOf(table, totals, fence, rows, lists);
    await pause();
  }
  return undefined;
};

const topOf = async (
  table: Table,
  totals: readonly StoredRow[],
  fence: Stored<Fence>,
  hours: readonly StoredRow[],
  lists: readonly StoredRow[],
): Promise<ShardTop> => {
  const ofHours = keyed(hours, parseHoursOrHourKey, bucketsFrom);
  const ofTotals = keyed(
    totals,
    () => undefined,
    (row) => row,
  );
  const ofLists = keyed(
    lists,
    () => undefined,
    () => undefined,
  );
  const numbers = new Set([...ofTotals.rows, ...ofHours.rows, ...ofLists.rows].map(({ stripe }) => stripe));
  const stripes: StripeTop[] = [];
  for (const stripe of [...numbers].sort((left, right) => left - right)) {
    const rows = ofHours.rows.filter((row) => row.stripe === stripe);
    const total = totals.find(({ rowKey }) => rowKey === inStripe(TOTAL_KEY, stripe));
    stripes.push({
      stripe,
      total: total && (await totalFrom(table, total, stripe, undefined).catch(damageOf)),
      hours: rows.find(({ key }) => key === 'hours')?.row,
      hourRows: new Map(rows.flatMap(({ key, row }) => (key === 'hours' ? [] : [[key, row] as const]))),
    });
  }
  return { stripes, fence, strays: [...ofTotals.strays, ...ofHours.strays, ...ofLists.strays] };
};

/** Reads the totals of some stripes, each as of one moment. @throws {StorageTrouble} */
export const readTotals = async (
  table: Table,
  partition: string,
  stripes: Iterable<number>,
): Promise<ReadonlyMap<number, Stored<StoredTotal>>> =>
  new Map(
    await Promise.all(
      Array.from(
        stripes,
        async (stripe) => [stripe, await readTotal(table, partition, stripe).catch(damageOf)] as const,
      ),
    ),
  );
