import { DamagedRow } from '../../storage/errors.ts';
import { ANY_VERSION, type RowWrite, unlessDamaged, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DAY_STATE, type Seal, sealProperties, stateWrite, STRIPED_PROPERTIES } from './day-row.ts';
import { ALL_HOURS, counterKey, DAY_00, DAY_COUNTER, MAX_STRIPES } from './keys.ts';
import { byStripe, readStripes } from './stripes.ts';

/** In `day|00` of a closed shard: its event rows are deleted, and timers have no more work with it. */
const EVENTS_DELETED = 'events_deleted';

/** The seal of a shard of a day, by its `day|NN` rows. */
export interface ShardSeal {
  readonly partition: string;
  /** The version of each stored row, by its stripe. */
  readonly etags: ReadonlyMap<number, string>;
  readonly sealed: Seal | undefined;
  readonly areEventsDeleted: boolean;
  /** When any of the rows was written last, in milliseconds since 1970 by the clock of storage; -Infinity: no row is stored. */
  readonly writtenAt: number;
}

/** Reads the seal of a shard. A seal counts in any row, because other rows may be lost or damaged. */
export const readSeal = async (table: Table, partition: string): Promise<ShardSeal> => {
  const select = [...DAY_STATE.select, EVENTS_DELETED, 'Timestamp'];
  const rows = await readStripes(table, partition, DAY_COUNTER, select);
  const all = [...rows.values()];
  return {
    partition,
    etags: new Map(Array.from(rows, ([stripe, { etag }]) => [stripe, etag])),
    sealed: all.map((row) => unlessDamaged(() => DAY_STATE.from(row).sealed)).find((sealed) => sealed !== undefined),
    areEventsDeleted: rows.get(0)?.properties[EVENTS_DELETED] === true,
    writtenAt: Math.max(-Infinity, ...all.map(({ properties }) => Date.parse(String(properties['timestamp'])))),
  };
};

/**
 * Seals a shard, or opens it after a rebuild (undefined): one transaction writes the seal into the `day|NN` rows of all stripes, and inserts
 * missing rows. Storage then refuses every commit that was planned before, however late it arrives: its stripe's row has another version, or
 * exists already.
 *
 * A day is closed only in the state that was read: a write in the meantime means that it is not quiet. A rebuild seals a live day, so it
 * demands only that `day|00` has not changed: a late seal must not hold the day again. It leaves rows in all stripes: `day|00` becomes striped.
 *
 * @returns the seal with the new versions
 * @throws {WriteConflict}
 */
export const sealShard = async (table: Table, before: ShardSeal, sealed: Seal | undefined): Promise<ShardSeal> => {
  const isClosing = sealed === 'closed';
  const writes = Array.from({ length: MAX_STRIPES }, (_, stripe) => {
    const etag = before.etags.get(stripe);
    const state = { ...sealProperties(sealed), ...(stripe === 0 && !isClosing && STRIPED_PROPERTIES) };
    return stateWrite(counterKey(DAY_COUNTER, stripe), etag && (stripe === 0 || isClosing ? etag : ANY_VERSION), state);
  });
  const etags = await table.transact(before.partition, writes);
  return { ...before, etags: new Map(etags.entries()), sealed };
};

/**
 * Writes under a seal, together with `day|00` at its version: late writes fail after another process has taken the shard over.
 *
 * @param properties of `day|00`
 * @returns the seal with the new version
 * @throws {WriteConflict}
 */
export const writeSealed = async (
  table: Table,
  seal: ShardSeal,
  others: readonly RowWrite[],
  properties = sealProperties(seal.sealed),
  kind: 'merge' | 'replace' = 'merge',
): Promise<ShardSeal> => {
  const writes = [writeOf(DAY_00, seal.etags.get(0), properties, kind), ...others];
  const [etag = ''] = await table.transact(seal.partition, writes);
  return { ...seal, etags: new Map(seal.etags).set(0, etag) };
};

/** Notes that the event rows of a closed shard are deleted. @throws {WriteConflict} if another process noted it first */
export const noteEventsDeleted = async (table: Table, seal: ShardSeal): Promise<void> => {
  await writeSealed(table, seal, [], { [EVENTS_DELETED]: true });
};

/**
 * Demands that every stripe with the row of an hour has its `day` row, and that `day|00` exists. A seal inserts missing rows, and would hide
 * that a row was lost.
 *
 * @throws {DamagedRow}
 */
export const demandDayRows = async (table: Table, { partition, etags }: ShardSeal): Promise<void> => {
  const stripes = new Set(etags.size > 0 ? [0] : []);
  for await (const page of table.pages(partition, ALL_HOURS, { select: [] })) {
    for (const stripe of byStripe(page).keys()) stripes.add(stripe);
  }
  for (const stripe of stripes) {
    if (etags.has(stripe)) continue;
    throw new DamagedRow(partition, counterKey(DAY_COUNTER, stripe), 'it is missing, and its stripe has other rows');
  }
};
