import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { DecodeError, WriteConflict } from '../../storage/errors.ts';
import { copiedProperties, type RowWrite, type StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { ALL_CAMERA_LISTS, ALL_CAMERAS, ALL_MINUTES, FENCE_KEY, HOURS_AND_HOUR_ROWS, TOTAL_KEY } from '../rows/keys.ts';
import { COMMIT_NUMBER, inStripe, parseStripe, stripesOf, announcement } from '../rows/stripes.ts';
import { emptyTotalProperties } from '../rows/total-row.ts';
import type { DamagedRows } from './findings.ts';

const TRIES = 60;
const MOST_PAUSE_MS = 40;

/** A transaction of 100 operations takes a write for each of up to 64 stripes, and two for each row that is moved. */
const ROWS_A_TRANSACTION = 15;

/**
 * So much above the last known commit number that no instance remembers the new number: one that does would take an emptied total
 * for its own.
 */
const FAR_ABOVE = 10_000_000;

/** A key has at most 512 characters. */
const MAX_KEY = 512;
/** So many characters of a long key are kept for the reader; the hash after them keeps long keys apart. */
const KEPT = 400;

/** The property of a row that was set aside with its whole key, if that does not fit into the new one. */
export const WHOLE_KEY = 'whole_key';

/** Writes a copy of a row, which was read exactly, at `damaged|<time>|<key>`. A key that would be too long is cut. */
export const copyAside = (row: StoredRow): RowWrite => {
  const { rowKey } = row;
  // Of this moment: a recorder may write a row again that was set aside, and the same repair may set that one aside too.
  const prefix = `damaged|${new Date().toISOString()}|`;
  const properties = copiedProperties(row);
  if (prefix.length + rowKey.length <= MAX_KEY) {
    return { kind: 'insert', rowKey: `${prefix}${rowKey}`, properties };
  }
  const hash = createHash('sha256').update(rowKey).digest('hex');
  // Half of a surrogate pair may be at the end.
  const start = rowKey.slice(0, KEPT).toWellFormed();
  return { kind: 'insert', rowKey: `${prefix}${start}|${hash}`, properties: { ...properties, [WHOLE_KEY]: rowKey } };
};

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
   * Sets rows aside. Stopped anywhere, it goes on when it is called again.
   *
   * @throws {WriteConflict} if others always wrote first
   * @throws {StorageTrouble}
   */
  async rows(damaged: DamagedRows): Promise<void> {
    if (damaged.of === 'row') {
      // A row beside the totals that is none of them: it is moved, and changed by nothing else.
      await this.#unlessChanged(async (fences) =>
        this.#move(
          [damaged.rowKey],
          fences.filter(({ rowKey }) => rowKey !== damaged.rowKey),
        ),
      );
    } else {
      while (!(await this.#emptied(damaged.stripe)));
    }
  }

  /** Sets some rows of a stripe aside. Its total goes last, and one without counts takes its place: readers find the stripes by it. */
  async #emptied(stripe: number): Promise<boolean> {
    const totalKey = inStripe(TOTAL_KEY, stripe);
    return this.#unlessChanged(async (fences, totals) => {
      const counters = await this.#keysIn(stripe, [ALL_MINUTES, HOURS_AND_HOUR_ROWS, ALL_CAMERAS]);
      if (counters.length > 0) {
        await this.#move(counters.slice(0, ROWS_A_TRANSACTION), fences);
        return false;
      }
      const lists = await this.#keysIn(stripe, [ALL_CAMERA_LISTS]);
      const listed = await Promise.all(lists.map(async (key) => this.#table.get(this.#partition, key)));
      const total = totals.find(({ rowKey }) => rowKey === totalKey);
      const properties = {
        ...emptyTotalProperties(),
        [COMMIT_NUMBER]: Math.max(0, ...[total, ...listed].map(commitIn)) + FAR_ABOVE,
        ...(stripe === 0 && announcement(await this.#stripes(totals))),
      };
      const write: RowWrite =
        total === undefined
          ? { kind: 'insert', rowKey: totalKey, properties }
          : { kind: 'replace', rowKey: totalKey, etag: total.etag, properties };
      const others = fences.filter(({ rowKey }) => rowKey !== totalKey);
      await this.#move(total === undefined ? lists : [...lists, totalKey], [...others, write]);
      return true;
    });
  }

  async #stripes(totals: readonly StoredRow[]): Promise<number> {
    const fence = await this.#table.get(this.#partition, FENCE_KEY);
    const fenced = fence?.properties['stripes'];
    return Math.max(1, typeof fenced === 'number' ? fenced : 1, ...totals.map((row) => stripeOf(row.rowKey) + 1));
  }

  /** Moves rows in one transaction with other writes. A row that one of them replaces is only copied. */
  async #move(keys: readonly string[], writes: readonly RowWrite[]): Promise<void> {
    const read = await Promise.all(keys.map(async (key) => this.#table.get(this.#partition, key, { exact: true })));
    const rows = read.filter((row) => row !== undefined);
    if (rows.length === 0 && writes.every(({ kind }) => kind === 'merge')) return;
    const written = new Set(writes.map(({ rowKey }) => rowKey));
    await this.#table.transact(this.#partition, [
      ...writes,
      ...rows.map(copyAside),
      // A deletion takes any version: the other writes fail if a row may have changed.
      ...rows.flatMap(({ rowKey }) => (written.has(rowKey) ? [] : [{ kind: 'delete', rowKey } as const])),
    ]);
    this.#onMoved(rows);
  }

  /** Does work whose writes fail if anything was committed to the shard since it began; then does it again. */
  async #unlessChanged<Result>(
    work: (fences: readonly RowWrite[], totals: readonly StoredRow[]) => Promise<Result>,
  ): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      const totals = await this.#table.all(this.#partition, stripesOf(TOTAL_KEY));
      // A merge of nothing changes only the version of a row. Every commit changes a total.
      const fences = totals.map(({ rowKey, etag }): RowWrite => ({ kind: 'merge', rowKey, etag, properties: {} }));
      try {
        return await work(fences, totals);
      } catch (error) {
        if (tries === TRIES || !(error instanceof WriteConflict)) throw error;
        await setTimeout(Math.random() * MOST_PAUSE_MS);
      }
    }
  }

  /** The keys of a stripe's rows in some ranges. */
  async #keysIn(stripe: number, ranges: readonly { readonly from: string; readonly before: string }[]) {
    const keys: string[] = [];
    for (const range of ranges) {
      for (const { rowKey } of await this.#table.all(this.#partition, range, { select: [] })) {
        if (stripeOf(rowKey) === stripe) keys.push(rowKey);
      }
    }
    return keys;
  }
}

/** The stripe of a row; -1 if its key has the suffix of none. */
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
