/**
 * `npm run import -- --in DIR`: puts exported days into a storage. infra/archive/README.md tells how to use it.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isDay } from '../src/analytics/model/day.ts';
import { readSdkError } from '../src/azure/sdk-error.ts';
import { ArchiveError } from './archive/archive-error.ts';
import { archiveTable, describeFailure } from './archive/archive-table.ts';
import { makeDisplay } from './archive/display.ts';
import { importDay } from './archive/import-day.ts';
import { type Manifest, readManifest } from './archive/manifest.ts';
import { IMPORT } from './archive/options.ts';
import { CommandError, runCommand } from './command-line.ts';

/** The days of a directory, each whole. */
const archivedDays = async (directory: string): Promise<readonly { directory: string; manifest: Manifest }[]> => {
  const names = await readdir(directory).catch((error: unknown) => {
    throw new CommandError(`${directory} cannot be read.`, { cause: error });
  });
  const days: { directory: string; manifest: Manifest }[] = [];
  for (const name of names.filter(isDay).toSorted()) {
    const manifest = await readManifest(join(directory, name));
    if (manifest?.complete !== true || manifest.day !== name) {
      throw new CommandError(`${join(directory, name)} is not a whole day: run the export to its end first.`);
    }
    days.push({ directory: join(directory, name), manifest });
  }
  if (days.length === 0) throw new CommandError(`${directory} holds no exported day.`);
  return days;
};

const number = (value: number): string => value.toLocaleString('en-GB');

await runCommand(
  IMPORT,
  async ({ in: directory, port, settings }) => {
    const days = await archivedDays(directory);
    const table = await archiveTable({ port, settings });
    // An identity may be allowed to use the table and not to create it.
    await table.createTable().catch((error: unknown) => {
      if (readSdkError(error).status !== 403) throw error;
    });
    const display = makeDisplay();
    let code = 0;
    try {
      for (const day of days) {
        try {
          const { written } = await importDay(table, {
            ...day,
            onPartition:
              (step, { partition, rows: total }) =>
              (rows) => {
                display.update(`${partition}, ${step}`, rows, total);
              },
          });
          display.end();
          const rows = day.manifest.partitions.reduce((sum, partition) => sum + partition.rows, 0);
          console.log(`${day.manifest.day}  ${number(written)} rows written, ${number(rows - written)} were there`);
        } catch (error) {
          if (!(error instanceof ArchiveError)) throw error;
          display.end();
          console.error(`${day.manifest.day}: ${error.message}`);
          code = 1;
        }
      }
    } finally {
      display.end();
    }
    return code;
  },
  { exitCode: 2, describe: describeFailure },
);
