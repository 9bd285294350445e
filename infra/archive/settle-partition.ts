import type { TableClient } from '@azure/data-tables';
import pLimit from 'p-limit';

import { moveOnto } from '../replace-file.ts';
import type { ArchivedRow } from './archived-row.ts';
import { rowAt, rowPages, type RowVersion, versionPages } from './partition-rows.ts';
import { keepLonger, rowsIn, RowWriter } from './row-file.ts';

/** A partition was written to in every pass for as long as was to be waited. */
export class Unsettled extends Error {
  override readonly name = 'Unsettled';
}

/** How to read a partition until it holds still. */
export interface Settling {
  /** Where the rows are collected. What an earlier run has left there is used. */
  readonly path: string;
  /** How long passes are repeated, in milliseconds. */
  readonly patienceMs: number;
  /** Told after every page; `total` is what the pass before has found. */
  readonly onProgress: (progress: { readonly pass: number; readonly rows: number; readonly total: number }) => void;
}

const PARALLEL_READS = 16;

/** One reads what is new since an earlier run, one finds what was written meanwhile, one finds that nothing was. */
const LEAST_PASSES = 3;

/**
 * Reads a partition into a file until the file is what the partition held at one instant.
 *
 * Rows come in pages, and what was written between two pages makes them no snapshot. So the partition is gone through again, keys and
 * ETags only, and every row that has changed is read again, until a pass finds none: every row was then the same from its reading
 * to that pass, and so all of them at the instant when the pass began.
 *
 * @returns how many rows, and the instant, in milliseconds since 1970
 * @throws {Unsettled} where writes have not paused; the file is kept, and the next run needs to read only what has changed
 */
export const settlePartition = async (
  table: TableClient,
  partition: string,
  { path, patienceMs, onProgress }: Settling,
): Promise<{ readonly rows: number; readonly at: number }> => {
  const next = `${path}.next`;
  await keepLonger(path, next);
  const giveUpAt = Date.now() + patienceMs;
  let total = 0;
  for (let pass = 1; ; pass += 1) {
    const at = Date.now();
    const writer = new RowWriter(next);
    const changes = await readAgain(table, partition, path, writer, (rows) => {
      onProgress({ pass, rows, total });
    });
    await writer.end();
    await moveOnto(next, path);
    total = writer.rows;
    if (changes === 0) return { rows: writer.rows, at };
    if (pass >= LEAST_PASSES && Date.now() > giveUpAt) throw new Unsettled(`${partition} is still being written to`);
  }
};

/** Copies what is known and has not changed, and reads the rest. Returns how many rows were new, changed or gone. */
const readAgain = async (
  table: TableClient,
  partition: string,
  path: string,
  writer: RowWriter,
  onRows: (rows: number) => void,
): Promise<number> => {
  const known = await KnownRows.in(path);
  const limit = pLimit(PARALLEL_READS);
  let changes = 0;
  let lastKey: string | undefined;
  // A pass that knows nothing reads whole rows from the beginning on, and any other one from where its knowledge ends.
  const versions = known.areThrough() ? [] : versionPages(table, partition);
  for await (const page of versions) {
    const rows: Promise<ArchivedRow | undefined>[] = [];
    for (const version of page) {
      const row = await known.unchanged(version);
      if (row === undefined) changes += 1;
      rows.push(row === undefined ? limit(rowAt, table, partition, version.rowKey) : Promise.resolve(row));
    }
    for (const row of await Promise.all(rows)) if (row !== undefined) await writer.write(row);
    onRows(writer.rows);
    lastKey = page.at(-1)?.rowKey ?? lastKey;
    if (known.areThrough()) break;
  }
  changes += await known.passedBy();
  for await (const page of rowPages(table, partition, lastKey)) {
    for (const row of page) await writer.write(row);
    changes += page.length;
    onRows(writer.rows);
  }
  return changes;
};

/** The rows that an earlier pass has read, gone through in the order of their keys. */
class KnownRows {
  readonly #rows: AsyncGenerator<ArchivedRow>;
  #next: ArchivedRow | undefined;
  #gone = 0;

  private constructor(rows: AsyncGenerator<ArchivedRow>) {
    this.#rows = rows;
  }

  static async in(path: string): Promise<KnownRows> {
    const known = new KnownRows(rowsIn(path));
    await known.#advance();
    return known;
  }

  /** Whether all of them have been gone through. */
  areThrough(): boolean {
    return this.#next === undefined;
  }

  /** The row where it is still this version. Those before it are gone from the storage. */
  async unchanged({ rowKey, etag }: RowVersion): Promise<ArchivedRow | undefined> {
    while (this.#next !== undefined && this.#next.rowKey < rowKey) {
      this.#gone += 1;
      await this.#advance();
    }
    const row = this.#next;
    if (row?.rowKey !== rowKey) return undefined;
    await this.#advance();
    return row.etag === etag ? row : undefined;
  }

  /** How many are gone from the storage, once the end of its rows is reached. */
  async passedBy(): Promise<number> {
    while (this.#next !== undefined) {
      this.#gone += 1;
      await this.#advance();
    }
    return this.#gone;
  }

  async #advance(): Promise<void> {
    const { value, done } = await this.#rows.next();
    this.#next = done === true ? undefined : value;
  }
}
