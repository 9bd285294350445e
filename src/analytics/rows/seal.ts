import { DamagedRow } from '../../storage/errors.ts';
import { ANY_VERSION, type NewProperties, type RowWrite, unlessDamaged, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DAY_STATE, type Seal, sealProperties, stateWrite, STRIPED_PROPERTIES } from './day-row.ts';
import { ALL_HOURS, counterKey, DAY_00, DAY_COUNTER, MAX_STRIPES } from './keys.ts';
import { byStripe, readStripes, type RowsByStripe } from './stripes.ts';

/** In `day|00` of a closed shard: its event rows are deleted, and timers have no more work with it. */
const EVENTS_DELETED = 'events_deleted';

/** The seal of a shard of a day, by its `day|NN` rows. */
export interface ShardSeal {
  readonly partition: string;
  /** The rows, without their counts. */
  readonly rows: RowsByStripe;
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
    rows,
    sealed: all.map((row) => unlessDamaged(() => DAY_STATE.from(row).sealed)).find((sealed) => sealed !== undefined),
    areEventsDeleted: rows.get(0)?.properties[EVENTS_DELETED] === true,
    writtenAt: Math.max(-Infinity, ...all.map(({ properties }) => Date.parse(String(properties['timestamp'])))),
  };
};

/**
 * Seals a shard: one transaction writes the seal into the `day|NN` rows of all stripes, and inserts missing rows. Storage then refuses every
 * commit that was planned before, however late it arrives: its stripe's row has another version, or exists already.
 *
 * A day is closed only in the state that was read: a write in the meantime means that it is not quiet. A rebuild seals a live day, so it
 * demands only that `day|00` has not changed: a late seal must not hold the day again.
 *
 * @returns the version of `day|00`
 * @throws {WriteConflict}
 */
export const sealShard = async (table: Table, { partition, rows }: ShardSeal, sealed: Seal): Promise<string> => {
  const [etag = ''] = await table.transact(
    partition,
    inAllStripes(rows, sealed, (stripe) => stripe === 0 || sealed === 'closed'),
  );
  return etag;
};

/**
 * Opens a shard that a rebuild has sealed. Other stripes have rows now: `day|00` becomes striped.
 *
 * @throws {WriteConflict} if another process took the shard over
 */
export const unsealShard = async (table: Table, { partition, rows }: ShardSeal): Promise<void> => {
  await table.transact(
    partition,
    inAllStripes(rows, undefined, (stripe) => stripe === 0, STRIPED_PROPERTIES),
  );
};

/** The writes of a seal, or of its end, into the rows of all stripes. */
const inAllStripes = (
  rows: RowsByStripe,
  sealed: Seal | undefined,
  isAtVersion: (stripe: number) => boolean,
  moreInFirst: NewProperties = {},
): readonly RowWrite[] =>
  Array.from({ length: MAX_STRIPES }, (_, stripe) => {
    const state = { ...sealProperties(sealed), ...(stripe === 0 && moreInFirst) };
    const etag = rows.get(stripe)?.etag;
    return stateWrite(counterKey(DAY_COUNTER, stripe), etag && (isAtVersion(stripe) ? etag : ANY_VERSION), state);
  });

/** Notes that the event rows of a closed shard are deleted. @throws {WriteConflict} if another process noted it first */
export const noteEventsDeleted = async (table: Table, { partition, rows }: ShardSeal): Promise<void> => {
  await table.transact(partition, [writeOf(DAY_00, rows.get(0)?.etag, { [EVENTS_DELETED]: true })]);
};

/**
 * Demands that every stripe with the row of an hour has its `day` row, and that `day|00` exists. A seal inserts missing rows, and would hide
 * that a row was lost.
 *
 * @throws {DamagedRow}
 */
export const demandDayRows = async (table: Table, { partition, rows }: ShardSeal): Promise<void> => {
  const stripes = new Set(rows.size > 0 ? [0] : []);
  for await (const page of table.pages(partition, ALL_HOURS, { select: [] })) {
    for (const stripe of byStripe(page).keys()) stripes.add(stripe);
  }
  for (const stripe of stripes) {
    if (rows.has(stripe)) continue;
    throw new DamagedRow(partition, counterKey(DAY_COUNTER, stripe), 'it is missing, and its stripe has other rows');
  }
};
