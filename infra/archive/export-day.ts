import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

import type { TableClient } from '@azure/data-tables';

import type { Day } from '../../src/analytics/model/day.ts';
import { moveOnto } from '../replace-file.ts';
import { archivePath, type Manifest, type PartitionEntry, readManifest, sha256Of, writeManifest } from './manifest.ts';
import { partitionsOf, versionPages } from './partition-rows.ts';
import { rowsIn } from './row-file.ts';
import { settlePartition, Unsettled, type Settling } from './settle-partition.ts';

/** How a day is exported. */
export interface DayExport {
  readonly day: Day;
  /** The day's own directory. */
  readonly directory: string;
  /** How long to wait for a pause in the writes to one partition, in milliseconds. */
  readonly patienceMs: number;
  /** Called with a partition when its turn comes. */
  readonly onPartition: (partition: string) => Settling['onProgress'];
}

/** What came of it. `earlier`: the directory held the whole day before. */
export type DayExported =
  { readonly kind: 'exported' | 'earlier'; readonly manifest: Manifest } | { readonly kind: 'no rows' };

const WORK = '.rows';

/**
 * Exports a day: a file per partition, each as of one instant, and a manifest. A run that was killed is gone on with.
 *
 * Transactions never span partitions, and a camera's rows are all in one, so each partition may be as of an instant of its own. Only the
 * partition of the day itself speaks of the others (how many there are, whether the day is closed): it is read first and looked at
 * again when all others are there.
 *
 * @throws {Unsettled} where the day is written to without a pause
 */
export const exportDay = async (table: TableClient, asked: DayExport): Promise<DayExported> => {
  const { day, directory } = asked;
  const found = await readManifest(directory);
  if (found?.complete === true) {
    await removeWork(directory);
    return { kind: 'earlier', manifest: found };
  }
  const entries: PartitionEntry[] = [...(found?.partitions ?? [])];
  const manifest = (complete: boolean): Manifest => ({ version: 1, day, complete, partitions: entries });
  const giveUpAt = Date.now() + asked.patienceMs;
  for (;;) {
    const missing = await missingPartitions(table, day, entries);
    if (missing.length === 0 && entries.length === 0) return { kind: 'no rows' };
    await mkdir(directory, { recursive: true });
    for (const partition of missing) {
      entries.push(await exportPartition(table, partition, asked));
      await writeManifest(directory, manifest(false));
    }
    const isOwnCurrent = await isAsExported(table, day, join(directory, `${day}${WORK}`));
    if (isOwnCurrent && (await missingPartitions(table, day, entries)).length === 0) break;
    if (Date.now() > giveUpAt) throw new Unsettled(`${day} is being changed as a whole`);
    // What the day's own partition says now may hold for none of the files.
    if (!isOwnCurrent) entries.length = 0;
  }
  await writeManifest(directory, manifest(true));
  await removeWork(directory);
  return { kind: 'exported', manifest: manifest(true) };
};

/** The day's own partition sorts first. */
const missingPartitions = async (
  table: TableClient,
  day: Day,
  entries: readonly PartitionEntry[],
): Promise<readonly string[]> => {
  const present = new Set(entries.map(({ partition }) => partition));
  return (await partitionsOf(table, day)).filter((partition) => !present.has(partition));
};

const exportPartition = async (
  table: TableClient,
  partition: string,
  { directory, patienceMs, onPartition }: DayExport,
): Promise<PartitionEntry> => {
  const work = join(directory, `${partition}${WORK}`);
  const { rows, at } = await settlePartition(table, partition, {
    path: work,
    patienceMs,
    onProgress: onPartition(partition),
  });
  const path = archivePath(directory, partition);
  await pipeline(createReadStream(work), createGzip(), createWriteStream(`${path}.next`, { flush: true }));
  await moveOnto(`${path}.next`, path);
  return { partition, rows, as_of: new Date(at).toISOString(), sha256: await sha256Of(path) };
};

/** Whether a partition has the versions of its rows that were exported. */
const isAsExported = async (table: TableClient, partition: string, path: string): Promise<boolean> => {
  const exported = new Map<string, string>();
  for await (const { rowKey, etag } of rowsIn(path)) exported.set(rowKey, etag);
  let rows = 0;
  for await (const page of versionPages(table, partition)) {
    rows += page.length;
    if (page.some(({ rowKey, etag }) => exported.get(rowKey) !== etag)) return false;
  }
  return rows === exported.size;
};

const removeWork = async (directory: string): Promise<void> => {
  for (const name of await readdir(directory)) {
    if (name.endsWith(WORK) || name.endsWith('.next')) await rm(join(directory, name), { force: true });
  }
};
