import { pause } from '../audit/random-pause.ts';
import type { DamagedRows } from '../audit/remedy.ts';
import { COMMIT_NUMBER } from '../rows/commit-number.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { DecodeError, WriteConflict } from '../../storage/errors.ts';
import type { KeyRange, RowWrite, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import {
  ALL_CAMERA_LISTS,
  ALL_CAMERAS,
  ALL_HOURS,
  ALL_MINUTES,
  FENCE_KEY,
  hourKey,
  HOURS_KEY,
  minutesOfHour,
  TOTAL_KEY,
} from '../rows/keys.ts';
import { inStripe, parseStripe, stripesOf } from '../rows/stripe-keys.ts';
import { announcement, emptyTotalProperties } from '../rows/total-row.ts';
import { setAsideRow } from './set-aside-row.ts';

const TRIES = 60;

/** A transaction of 100 operations takes a write for each of up to 64 stripes, and two for each row that is moved. */
const ROWS_A_TRANSACTION = 15;

/**
 * So much above the last known commit number that no instance remembers the new number: one that does would take an emptied total
 * for its own.
 */
const FAR_ABOVE = 10_000_000;

/** Sets rows of one shard aside: copies them to another key of the partition and deletes them. */
export class SettingAside {
  readonly #table: Table;
  readonly #partition: string;
  readonly #onMoved: (rows: readonly StoredRow[]) => void;

  /** @param onMoved called after each transaction */
  constructor(table: Table, partition: string, onMoved: (rows: readonly StoredRow[]) => void) {
    this.#table = table;
    this.#partition = partition;
    this.#onMoved = onMoved;
  }

  /**
   * Sets rows aside, with the rows below them, which go first: a recorder takes a row that is missing for one that it must insert,
   * where the row above says that it exists. Stopped anywhere, it goes on when it is called again.
   *
   * @throws {WriteConflict} where others always wrote first
   * @throws {StorageTrouble | DayClosed}
   */
  async rows(damaged: DamagedRows): Promise<void> {
    switch (damaged.of) {
      case 'row':
        return this.#move([damaged.rowKey]);
      case 'hour': {
        const { stripe, hour } = damaged;
        const below = await this.#keysIn(stripe, [minutesOfHour(hour)]);
        return this.#move([...below, inStripe(hourKey(hour), stripe)]);
      }
      case 'hours': {
        const { stripe } = damaged;
        const below = await this.#keysIn(stripe, [ALL_MINUTES, ALL_HOURS]);
        return this.#move([...below, inStripe(HOURS_KEY, stripe)]);
      }
      case 'stripe':
        return this.#stripe(damaged.stripe);
    }
  }

  async #move(rowKeys: readonly string[]): Promise<void> {
    for (let first = 0; first < rowKeys.length; first += ROWS_A_TRANSACTION) {
      const keys = rowKeys.slice(first, first + ROWS_A_TRANSACTION);
      await this.#unlessChanged(async (fences) => this.#moveTogether(keys, fences));
    }
  }

  /** Empties a stripe. Its total stays, without counts: readers find the stripes by it. */
  async #stripe(stripe: number): Promise<void> {
    const totalKey = inStripe(TOTAL_KEY, stripe);
    const isEmpty = async (): Promise<boolean> =>
      this.#unlessChanged(async (fences, totals) => {
        const [lists, counters] = await Promise.all([
          this.#keysIn(stripe, [ALL_CAMERA_LISTS]),
          this.#keysIn(stripe, [ALL_MINUTES, ALL_HOURS, { from: HOURS_KEY, before: ALL_HOURS.from }, ALL_CAMERAS]),
        ]);
        if (counters.length > 0) {
          await this.#moveTogether(counters.slice(0, ROWS_A_TRANSACTION), fences);
          return false;
        }
        const total = totals.find(({ rowKey }) => rowKey === totalKey);
        const listed = await Promise.all(lists.map(async (key) => this.#table.get(this.#partition, key)));
        const commit = Math.max(0, ...[total, ...listed].map(commitIn)) + FAR_ABOVE;
        const properties = {
          ...emptyTotalProperties(),
          [COMMIT_NUMBER]: commit,
          ...(stripe === 0 && announcement(await this.#stripes(totals))),
        };
        const write: RowWrite =
          total === undefined
            ? { kind: 'insert', rowKey: totalKey, properties }
            : { kind: 'replace', rowKey: totalKey, etag: total.etag, properties };
        const others = fences.filter(({ rowKey }) => rowKey !== totalKey);
        await this.#moveTogether(total === undefined ? lists : [...lists, totalKey], [...others, write]);
        return true;
      });
    while (!(await isEmpty()));
  }

  async #stripes(totals: readonly StoredRow[]): Promise<number> {
    const fence = await this.#table.get(this.#partition, FENCE_KEY);
    const fenced = fence?.properties['stripes'];
    return Math.max(1, typeof fenced === 'number' ? fenced : 1, ...totals.map((row) => stripeOf(row.rowKey) + 1));
  }

  async #moveTogether(keys: readonly string[], writes: readonly RowWrite[]): Promise<void> {
    const read = await Promise.all(keys.map(async (key) => this.#table.get(this.#partition, key, { exact: true })));
    const rows = read.filter((row) => row !== undefined);
    const replaces = writes.some(({ kind }) => kind !== 'merge');
    if (rows.length === 0 && !replaces) return;
    // Of this moment: a recorder may write a row again that was set aside, and the same repair may set that one aside too.
    const time = new Date().toISOString();
    const written = new Set(writes.map(({ rowKey }) => rowKey));
    await this.#table.transact(this.#partition, [
      ...writes,
      ...rows.flatMap((row): readonly RowWrite[] => [
        setAsideRow(row, time),
        // The deletion takes any version: the other writes fail if the row may have changed.
        ...(written.has(row.rowKey) ? [] : [{ kind: 'delete', rowKey: row.rowKey } as const]),
      ]),
    ]);
    this.#onMoved(rows);
  }

  /** Does work whose writes fail where anything was committed to the shard since it began; then does it again. */
  async #unlessChanged<Result>(
    work: (fences: readonly RowWrite[], totals: readonly StoredRow[]) => Promise<Result>,
  ): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      const totals = await this.#table.all(this.#partition, stripesOf(TOTAL_KEY));
      const fence = await this.#table.get(this.#partition, FENCE_KEY);
      const fencing = fence === undefined ? totals : [...totals, fence];
      if (fencing.some(({ properties }) => properties['closed'] === true)) throw new DayClosed();
      // A merge of nothing changes only the version of a row. Every commit changes a total, and every new stripe the fence.
      const fences = fencing.map(({ rowKey, etag }): RowWrite => ({ kind: 'merge', rowKey, etag, properties: {} }));
      try {
        return await work(fences, totals);
      } catch (error) {
        if (tries === TRIES || !(error instanceof WriteConflict)) throw error;
        await pause();
      }
    }
  }

  /** The keys of a stripe's rows in some ranges. */
  async #keysIn(stripe: number, ranges: readonly KeyRange[]): Promise<readonly string[]> {
    const keys: string[] = [];
    for (const range of ranges) {
      for (const { rowKey } of await this.#table.all(this.#partition, range, { select: [] })) {
        if (stripeOf(rowKey) === stripe) keys.push(rowKey);
      }
    }
    return keys;
  }
}

/** The stripe of a row; -1 where its key has the suffix of none. */
const stripeOf = (rowKey: string): number => {
  try {
    return parseStripe(rowKey).stripe;
  } catch (error) {
    if (error instanceof DecodeError) return -1;
    throw error;
  }
};

const commitIn = (row: StoredRow | undefined): number => {
  const commit = row?.properties[COMMIT_NUMBER];
  return typeof commit === 'number' ? commit : 0;
};
