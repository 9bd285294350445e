import type { Correction } from '../audit/remedy.ts';
import type { Day } from '../model/day.ts';
import { DifferenceWriter } from '../record/apply-differences.ts';
import { COMMIT_NUMBER } from '../rows/commit-number.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { dayPartition, FENCE_KEY, REPAIR_KEY, SHARDS_KEY, shardPartition, TOTAL_KEY } from '../rows/keys.ts';
import { ANY_VERSION, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import { announcement } from '../rows/total-row.ts';
import { differencesFor, inTransactions } from './differences.ts';
import type { Examination } from './examine-day.ts';
import { eventsOfCamera, moveEvents } from './misplaced-camera.ts';
import { SettingAside } from './set-aside.ts';
import { setAsideRow } from './set-aside-row.ts';

/**
 * The remedies for what one audit found, each kind by itself. Each says whether anything was to be done.
 *
 * Each throws a DayClosed where the day was closed since the audit.
 */
export class RepairRound {
  readonly #table: Table;
  readonly #day: Day;
  readonly #examination: Examination;
  readonly #say: (line: string) => void;

  constructor(table: Table, day: Day, examination: Examination, say: (line: string) => void) {
    this.#table = table;
    this.#day = day;
    this.#examination = examination;
    this.#say = say;
  }

  async shards(): Promise<boolean> {
    for (const { remedy } of this.#examination.report.differences) {
      if (remedy.kind !== 'shards') continue;
      const partition = dayPartition(this.#day);
      const row = await this.#table.get(partition, SHARDS_KEY);
      refuseClosed(row);
      if (row !== undefined) await this.#move(partition, SHARDS_KEY, row.etag, remedy.shards);
      else await this.#table.insert(partition, SHARDS_KEY, { shards: remedy.shards });
      this.#say(`the day has ${remedy.shards} shards`);
      return true;
    }
    return false;
  }

  async #move(partition: string, rowKey: string, etag: string, shards: number): Promise<void> {
    const row = await this.#table.get(partition, rowKey, { exact: true });
    const write = writeOf(rowKey, etag, { shards }, 'replace');
    await this.#table.transact(partition, [write, ...(row === undefined ? [] : [setAsideRow(row, now())])]);
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
      refuseClosed(fence);
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
      const total = await this.#table.get(partition, rowKey, { select: [COMMIT_NUMBER] });
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
        guard = await writer.add(differencesFor(group), writeOf(REPAIR_KEY, guard, { repaired: now() }));
        this.#say(`put ${group.length} ${group.length === 1 ? 'counter' : 'counters'} of shard ${shard} right`);
      }
    }
  }

  #settingAside(shard: number): SettingAside {
    return new SettingAside(this.#table, shardPartition(this.#day, shard), (rows) => {
      for (const row of rows) this.#say(`set aside row ${row.rowKey} of shard ${shard}${contentOf(row)}`);
    });
  }
}

/** ISO 8601, UTC. */
const now = (): string => new Date().toISOString();

/** The row is replaced at this version: the mark of a day that is closed since the audit would be gone. @throws {DayClosed} */
const refuseClosed = (row: StoredRow | undefined): void => {
  if (row?.properties['closed'] === true) throw new DayClosed();
};

/** What an event row held, because nothing else tells it any more. */
const contentOf = ({ rowKey, properties }: StoredRow): string =>
  rowKey.startsWith('event|') ? `, which held ${JSON.stringify(properties)}` : '';
