import pLimit from 'p-limit';

import { ALL_SHARDS, auditDay, type AuditReport } from '../audit/audit.ts';
import type { Difference } from '../audit/findings.ts';
import type { Correction, DamagedRows } from '../audit/remedy.ts';
import type { Day } from '../model/day.ts';
import { DifferenceWriter } from '../record/apply-differences.ts';
import { COMMIT_NUMBER } from '../rows/commit-number.ts';
import { DayClosed, DayShards } from '../rows/day-shards.ts';
import {
  dayPartition,
  FENCE_KEY,
  REPAIR_KEY,
  setAsideKey,
  SHARDS_KEY,
  shardPartition,
  TOTAL_KEY,
} from '../rows/keys.ts';
import { ANY_VERSION, writeOf } from '../rows/row.ts';
import { StorageTrouble, WriteConflict } from '../rows/storage-errors.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import type { CounterTable, TypedRow } from '../rows/table.ts';
import { announcement } from '../rows/total-row.ts';
import { differencesFor, inTransactions } from './differences.ts';
import { eventsOfCamera, moveEvents } from './misplaced-camera.ts';
import { SettingAside } from './set-aside.ts';

/** The day is closed: its event rows are deleted, and counters that are counted from them would become zero. */
export class ClosedDay extends Error {
  override readonly name = 'ClosedDay';
}

/** Others changed the same rows during every try, or differences came back after they were put right. */
export class RepairUnfinished extends Error {
  override readonly name = 'RepairUnfinished';
}

/** An audit, and what tells whether another repair added differences since. */
export interface Examination {
  readonly report: AuditReport;
  /** The version of each shard's `repair` row before the audit; undefined: there was none. */
  readonly guards: ReadonlyMap<number, string | undefined>;
}

const PARALLEL_READS = 16;
const ROUNDS = 12;

/**
 * Audits a day that is to be repaired.
 *
 * @throws {ClosedDay}
 * @throws {AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const examineDay = async (table: CounterTable, day: Day): Promise<Examination> => {
  const limit = pLimit(PARALLEL_READS);
  const isClosed = async (partition: string, rowKey: string): Promise<boolean> =>
    (await table.get(partition, rowKey, ['closed']))?.properties['closed'] === true;
  const guards = new Map<number, string | undefined>();
  const closed = await limit.map(ALL_SHARDS, async (shard) => {
    const partition = shardPartition(day, shard);
    guards.set(shard, (await table.get(partition, REPAIR_KEY))?.etag);
    return (await isClosed(partition, FENCE_KEY)) || isClosed(partition, TOTAL_KEY);
  });
  if (closed.includes(true) || (await isClosed(dayPartition(day), SHARDS_KEY))) {
    throw new ClosedDay('a closed day has no event rows to count from: it cannot be repaired');
  }
  return { report: await auditDay(table, new DayShards(table, 1), day), guards };
};

/** What a repair will do about a difference, in words; undefined: it goes with another one. */
export const stepText = ({ remedy, counter }: Difference): string | undefined => {
  switch (remedy.kind) {
    case 'add':
      return `add to ${counter} what the event rows have more or less`;
    case 'set aside':
      return remedy.rows.map(rowsText).join('; ');
    case 'number':
      return `raise the commit number of ${inStripe(TOTAL_KEY, remedy.stripe)}`;
    case 'stripes':
      return `write that the shard has ${remedy.stripes} stripes`;
    case 'shards':
      return `write that the day has ${remedy.shards} shards`;
    case 'move':
      return `record the events of camera ${remedy.cameraId} in its own shard, and set them aside in this one`;
    case 'none':
      return undefined;
  }
};

const rowsText = (rows: DamagedRows): string => {
  const again = 'and count anew what they held';
  switch (rows.of) {
    case 'row':
      return rows.rowKey.startsWith('event|')
        ? `set aside row ${rows.rowKey}: what it contributed leaves the counters`
        : `set aside row ${rows.rowKey}, and count anew what it held`;
    case 'hour':
      return `set aside the rows of hour ${rows.hour} in stripe ${rows.stripe}, ${again}`;
    case 'hours':
      return `set aside the rows of all hours in stripe ${rows.stripe}, ${again}`;
    case 'stripe':
      return `set aside all rows of stripe ${rows.stripe}, ${again}`;
  }
};

/** What a repair works with. */
export interface RepairOptions {
  /** Called with a sentence after each transaction. */
  readonly say: (line: string) => void;
  /** Part of the keys of rows that are set aside; now by default. */
  readonly time?: string;
}

/**
 * Puts right what an audit found, in small transactions, while the day may be written to. What differs becomes one more difference
 * in a stripe of its own; rows that cannot be decoded are set aside first, and what they held is counted anew. Stopped anywhere, it
 * goes on when it is started again.
 *
 * @returns the last audit: without differences
 * @throws {RepairUnfinished | ClosedDay | AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const repairDay = async (
  table: CounterTable,
  day: Day,
  examined: Examination,
  { say, time = new Date().toISOString() }: RepairOptions,
): Promise<AuditReport> => {
  let examination = examined;
  for (let round = 1; examination.report.differences.length > 0; round += 1) {
    if (round > ROUNDS) throw new RepairUnfinished('differences are left: run the repair again');
    try {
      await putRight(new Round(table, day, examination, say, time));
    } catch (error) {
      if (error instanceof DayClosed) throw new ClosedDay('the day was closed meanwhile', { cause: error });
      // It may have been applied or not: the next audit tells.
      if (!(error instanceof WriteConflict || error instanceof StorageTrouble)) throw error;
      say('storage or another writer came between: reading again');
    }
    examination = await examineDay(table, day);
  }
  return examination.report;
};

/**
 * The remedies of the first kind that is needed. The others follow in later rounds, after another audit: how much a counter
 * lacks is known only once every row can be decoded and every event is in its shard.
 */
const putRight = async (round: Round): Promise<void> => {
  if (await round.shards()) return;
  const structure = [await round.stripes(), await round.setAside(), await round.numbers()];
  if (structure.includes(true)) return;
  if (await round.moves()) return;
  await round.differences();
};

class Round {
  readonly #table: CounterTable;
  readonly #day: Day;
  readonly #examination: Examination;
  readonly #say: (line: string) => void;
  readonly #time: string;

  constructor(table: CounterTable, day: Day, examination: Examination, say: (line: string) => void, time: string) {
    this.#table = table;
    this.#day = day;
    this.#examination = examination;
    this.#say = say;
    this.#time = time;
  }

  async shards(): Promise<boolean> {
    for (const { remedy } of this.#examination.report.differences) {
      if (remedy.kind !== 'shards') continue;
      const partition = dayPartition(this.#day);
      const row = await this.#table.get(partition, SHARDS_KEY);
      if (row !== undefined) await this.#move(partition, SHARDS_KEY, row.etag, remedy.shards);
      else await this.#table.insert(partition, writeOf(SHARDS_KEY, undefined, { shards: remedy.shards }));
      this.#say(`the day has ${remedy.shards} shards`);
      return true;
    }
    return false;
  }

  async #move(partition: string, rowKey: string, etag: string, shards: number): Promise<void> {
    const row = await this.#table.getTyped(partition, rowKey);
    const write = writeOf(rowKey, etag, { shards }, 'replace');
    await this.#table.move(partition, row === undefined ? [] : [row], (key) => setAsideKey(this.#time, key), [write]);
  }

  async stripes(): Promise<boolean> {
    let done = false;
    for (const { shard, remedy } of this.#examination.report.differences) {
      if (remedy.kind !== 'stripes' || shard === undefined) continue;
      const partition = shardPartition(this.#day, shard);
      const [fence, total] = await Promise.all([
        this.#table.get(partition, FENCE_KEY),
        this.#table.get(partition, TOTAL_KEY),
      ]);
      const { stripes } = remedy;
      await this.#table.transact(partition, [
        writeOf(FENCE_KEY, fence?.etag, { stripes }, 'replace'),
        ...(total === undefined
          ? []
          : [{ kind: 'merge', rowKey: TOTAL_KEY, etag: ANY_VERSION, properties: announcement(stripes) } as const]),
      ]);
      this.#say(`shard ${shard} has ${stripes} stripes`);
      done = true;
    }
    return done;
  }

  async setAside(): Promise<boolean> {
    const done = new Set<string>();
    for (const { shard, remedy } of this.#examination.report.differences) {
      if (remedy.kind !== 'set aside' || shard === undefined) continue;
      const settingAside = this.#settingAside(shard);
      for (const rows of remedy.rows) {
        const name = JSON.stringify([shard, rows]);
        if (!done.has(name)) await settingAside.rows(rows);
        done.add(name);
      }
    }
    return done.size > 0;
  }

  async numbers(): Promise<boolean> {
    let done = false;
    for (const { shard, remedy } of this.#examination.report.differences) {
      if (remedy.kind !== 'number' || shard === undefined) continue;
      const partition = shardPartition(this.#day, shard);
      const rowKey = inStripe(TOTAL_KEY, remedy.stripe);
      const total = await this.#table.get(partition, rowKey, [COMMIT_NUMBER]);
      if (total === undefined) continue;
      const properties = { [COMMIT_NUMBER]: remedy.commit + 1 };
      await this.#table.transact(partition, [{ kind: 'merge', rowKey, etag: total.etag, properties }]);
      this.#say(`the commit number of ${rowKey} in shard ${shard} is ${remedy.commit + 1}`);
      done = true;
    }
    return done;
  }

  async moves(): Promise<boolean> {
    let done = false;
    for (const { shard, remedy } of this.#examination.report.differences) {
      if (remedy.kind !== 'move' || shard === undefined) continue;
      const partition = shardPartition(this.#day, shard);
      const events = await eventsOfCamera(this.#table, partition, remedy.cameraId);
      const moved = await moveEvents(this.#table, events);
      this.#say(`recorded ${moved.length} events of camera ${remedy.cameraId} in its own shard`);
      for (const rowKey of moved) await this.#settingAside(shard).rows({ of: 'row', rowKey });
      done = true;
    }
    return done;
  }

  async differences(): Promise<void> {
    const byShard = Map.groupBy(this.#examination.report.differences, ({ shard }) => shard);
    for (const [shard, differences] of byShard) {
      if (shard === undefined) continue;
      const partition = shardPartition(this.#day, shard);
      const corrections = differences.flatMap(({ remedy }): readonly Correction[] =>
        remedy.kind === 'add' ? remedy.corrections : [],
      );
      const writer = new DifferenceWriter(this.#table, partition);
      // Each transaction changes the guard at the version that was read before the audit: what was added since, by another repair
      // or by a transaction whose answer was lost, is not added twice.
      let guard = this.#examination.guards.get(shard);
      for (const group of inTransactions(corrections)) {
        guard = await writer.add(differencesFor(group), writeOf(REPAIR_KEY, guard, { repaired: this.#time }));
        this.#say(`put ${group.length} ${group.length === 1 ? 'counter' : 'counters'} of shard ${shard} right`);
      }
    }
  }

  #settingAside(shard: number): SettingAside {
    return new SettingAside(this.#table, shardPartition(this.#day, shard), this.#time, (rows) => {
      for (const row of rows) this.#say(`set aside row ${row.rowKey} of shard ${shard}${contentOf(row)}`);
    });
  }
}

/** What an event row held, because nothing else tells it any more. */
const contentOf = ({ rowKey, properties }: TypedRow): string =>
  rowKey.startsWith('event|') ? `, which held ${JSON.stringify(properties)}` : '';
