import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';

import type { TableClient } from '@azure/data-tables';
import pLimit from 'p-limit';

import { readSdkError } from '../../src/azure/sdk-error.ts';
import { ArchiveError } from './archive-error.ts';
import { type ArchivedRow, entityOf, lineOf, rowOfLine, sameContent } from './archived-row.ts';
import { archivePath, type Manifest, type PartitionEntry, sha256Of } from './manifest.ts';
import { partitionsOf, rowAt, rowPages } from './partition-rows.ts';

/** A day to import. */
export interface DayImport {
  readonly directory: string;
  readonly manifest: Manifest;
  /** Called with a partition when its turn comes, and what is done with it. */
  readonly onPartition: (step: 'compare' | 'write' | 'verify', entry: PartitionEntry) => (rows: number) => void;
}

const TRANSACTION_ROWS = 100;
// A transaction may have 4 MiB; the text of a row is shorter here than in the request, at most by its names and types.
const TRANSACTION_CHARACTERS = 1_500_000;
const PARALLEL_TRANSACTIONS = 4;

/**
 * Imports a day: writes the rows that are missing, and never over a row. Nothing is written where the storage has rows of the
 * day that the archive does not have, or has otherwise. A run that was killed is gone on with.
 *
 * @returns how many rows were written; the others were there
 * @throws {ArchiveError} where a file is damaged, or the storage holds something else of that day
 */
export const importDay = async (table: TableClient, asked: DayImport): Promise<{ readonly written: number }> => {
  const { directory, manifest } = asked;
  for (const { partition, sha256 } of manifest.partitions) await mustBeWhole(directory, partition, sha256);
  const known = new Set(manifest.partitions.map(({ partition }) => partition));
  const foreign = (await partitionsOf(table, manifest.day)).find((partition) => !known.has(partition));
  if (foreign !== undefined) throw holdsOther(foreign, undefined);

  const present = new Map<string, Present>();
  for (const entry of manifest.partitions) {
    present.set(entry.partition, await compare(table, asked, 'compare', entry));
  }
  let written = 0;
  // The day's own partition comes last: until it is there, the service sees a day without data.
  for (const entry of manifest.partitions.toSorted((one, other) => (one.partition < other.partition ? 1 : -1))) {
    written += await writeMissing(table, asked, entry, present.get(entry.partition));
  }
  for (const entry of manifest.partitions) {
    const { first } = await compare(table, asked, 'verify', entry);
    if (first !== entry.rows)
      throw new ArchiveError(`${entry.partition} has ${first} of ${entry.rows} rows. Run the same command again.`);
  }
  return { written };
};

/** Which rows of a file the storage has: so many from the beginning, and these of the others. */
interface Present {
  readonly first: number;
  readonly others: ReadonlySet<string>;
}

const holdsOther = (partition: string, rowKey: string | undefined): ArchiveError =>
  new ArchiveError(
    `The storage has ${rowKey === undefined ? `rows in partition ${partition}` : `another row ${JSON.stringify(rowKey)} in partition ${partition}`} that ` +
      `the archive does not have. An import writes over nothing: import into an empty day, as under a TABLES_PREFIX of its own.`,
  );

const mustBeWhole = async (directory: string, partition: string, sha256: string): Promise<void> => {
  const path = archivePath(directory, partition);
  const found = await sha256Of(path).catch((error: unknown) => {
    throw new ArchiveError(`${path} cannot be read.`, { cause: error });
  });
  if (found !== sha256) throw new ArchiveError(`${path} is damaged: its SHA-256 is not that of the manifest.`);
};

async function* archivedRows(directory: string, partition: string): AsyncGenerator<ArchivedRow> {
  const path = archivePath(directory, partition);
  const input = createReadStream(path).pipe(createGunzip());
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    const row = rowOfLine(line);
    if (row === undefined) throw new ArchiveError(`${path} has a line that is no row.`);
    yield row;
  }
}

/** Compares what the storage has with the file; both are in the order of the keys. */
const compare = async (
  table: TableClient,
  { directory, onPartition }: DayImport,
  step: 'compare' | 'verify',
  entry: PartitionEntry,
): Promise<Present> => {
  const { partition } = entry;
  const onRows = onPartition(step, entry);
  const others = new Set<string>();
  let first = 0;
  let hasGap = false;
  const file = archivedRows(directory, partition);
  let expected = await file.next();
  for await (const page of rowPages(table, partition)) {
    for (const row of page) {
      while (expected.done !== true && expected.value.rowKey < row.rowKey) {
        hasGap = true;
        expected = await file.next();
      }
      if (expected.done === true || !sameContent(expected.value, row)) throw holdsOther(partition, row.rowKey);
      if (hasGap) others.add(row.rowKey);
      else first += 1;
      expected = await file.next();
    }
    onRows(first + others.size);
  }
  await file.return(undefined);
  return { first, others };
};

const writeMissing = async (
  table: TableClient,
  { directory, onPartition }: DayImport,
  entry: PartitionEntry,
  present: Present = { first: 0, others: new Set() },
): Promise<number> => {
  const { partition } = entry;
  const onRows = onPartition('write', entry);
  const limit = pLimit(PARALLEL_TRANSACTIONS);
  const underWay = new Set<Promise<void>>();
  let [index, written, characters] = [0, 0, 0];
  let batch: ArchivedRow[] = [];
  const send = async (): Promise<void> => {
    const rows = batch;
    [batch, characters] = [[], 0];
    if (rows.length === 0) return;
    const sent = limit(async () => insert(table, partition, rows)).then(() => {
      written += rows.length;
      onRows(present.first + present.others.size + written);
    });
    underWay.add(sent);
    void sent.finally(() => underWay.delete(sent)).catch(() => undefined);
    if (underWay.size >= PARALLEL_TRANSACTIONS) await Promise.race(underWay);
  };
  for await (const row of archivedRows(directory, partition)) {
    index += 1;
    if (index <= present.first || present.others.has(row.rowKey)) continue;
    const { length } = lineOf(row);
    if (batch.length === TRANSACTION_ROWS || characters + length > TRANSACTION_CHARACTERS) await send();
    batch.push(row);
    characters += length;
  }
  await send();
  await Promise.all(underWay);
  return written;
};

/** Inserts rows that are not there. */
const insert = async (table: TableClient, partition: string, rows: readonly ArchivedRow[]): Promise<void> => {
  try {
    await table.submitTransaction(rows.map((row) => ['create', entityOf(partition, row)]));
  } catch (error) {
    if (readSdkError(error).status !== 409) throw error;
    // Somebody else has written one of them, or this process by a request whose answer was lost.
    const missing: ArchivedRow[] = [];
    for (const row of rows) {
      const there = await rowAt(table, partition, row.rowKey);
      if (there === undefined) missing.push(row);
      else if (!sameContent(there, row)) throw holdsOther(partition, row.rowKey);
    }
    if (missing.length === rows.length) throw error;
    if (missing.length > 0) await insert(table, partition, missing);
  }
};
