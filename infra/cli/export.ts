/**
 * `npm run export -- --date D` writes a day's events as CloudEvents, one on each line. `npm run send` sends them to any service. Reads only.
 * infra/cli/send/README.md explains how to use it.
 */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

import { z } from 'zod';

import { DayClosed } from '../../src/analytics/errors.ts';
import { type Day, dayOf, endOfDay } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { tableOfShards } from '../../src/analytics/rows/keys.ts';
import { exportDay } from '../../src/analytics/retention/export-day.ts';
import { FORMAT } from '../../src/analytics/rows/properties.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { azureTable } from '../../src/storage/azure-table.ts';
import { Table } from '../../src/storage/table.ts';
import { CommandError, dayOption, portOption, runCommand, textOption } from './command-line.ts';
import { chosenCounters, storageFailure } from './chosen-storage.ts';
import { grouped } from './grouped.ts';
import { startProgress } from './progress.ts';

const values = z
  .object({
    date: z.string('--date is missing.').pipe(dayOption),
    to: dayOption.optional(),
    out: textOption('--out needs a file.'),
    port: portOption,
    settings: textOption('--settings needs a file.'),
  })
  .refine(({ date, to = date }) => date <= to, '--to is before --date.');

const EXPORT = {
  help: `npm run export -- --date YYYY-MM-DD [--to YYYY-MM-DD] [--out FILE] [--port N] [--settings FILE]
  Writes the events of UTC days as CloudEvents, NDJSON. npm run send -- FILE sends them to any service.
  --date YYYY-MM-DD  the day, or the first day
  --to YYYY-MM-DD    the last day, if there are several
  --out FILE         the file, gzip if its name ends with .gz; - for standard output; DATE.ndjson.gz by default
  --port N           the port of a local run, whose storage is read if no settings name a storage; 7071 by default
  --settings FILE    a settings file; local.settings.json by default, if it exists

Reads only. Exit code 0: every event is in the file. 1: events could not be read, or a day is closed. 2: no file was written.`,
  values,
} as const;

const daysBetween = (first: Day, last: Day): readonly Day[] => {
  const days = [first];
  for (let day = first; day < last; days.push(day)) day = dayOf(instantFrom(endOfDay(day) + 1n));
  return days;
};

/** The events that are exported, and the rows that cannot be read. */
interface Exported {
  events: number;
  readonly unreadable: string[];
}

/** The events of some days as lines, a page of rows at a time. It adds to `exported`. */
async function* linesOf(table: Table, shards: number, days: readonly Day[], exported: Exported) {
  const advance = startProgress('events');
  for (const [index, day] of days.entries()) {
    try {
      for await (const { lines, events, unreadable, shard, lastKey } of exportDay(table, shards, day)) {
        exported.events += events;
        exported.unreadable.push(...unreadable);
        // Rows come in the order of their hours.
        const hour = Number(/^event\|(\d\d)/.exec(lastKey)?.[1] ?? 0);
        advance({ label: day, part: (index + (shard + hour / 24) / shards) / days.length, count: exported.events });
        yield lines;
      }
    } catch (error) {
      if (!(error instanceof DayClosed)) throw error;
      throw new CommandError(`${day} is closed: its event rows are deleted. Use the backup.`, { exitCode: 1 });
    }
  }
}

let tableName = 'analytics';

const exportDays = async ({ date, to = date, out, port, settings }: z.infer<typeof values>): Promise<number> => {
  const { storage, shards, tableName: name } = await chosenCounters(port, settings);
  tableName = name;
  const table = new Table(azureTable(storage, tableOfShards(shards), lazyCredential()), {
    format: FORMAT,
    isCreated: false,
  });
  const file = out ?? `${to === date ? date : `${date}_${to}`}.ndjson.gz`;
  const exported: Exported = { events: 0, unreadable: [] };
  const lines = Readable.from(linesOf(table, shards, daysBetween(date, to), exported));
  // The file has another name until it is complete: an interrupted run must not leave a file that looks like a backup.
  const partial = `${file}.part`;
  try {
    if (file === '-') await pipeline(lines, process.stdout, { end: false });
    else if (file.endsWith('.gz')) await pipeline(lines, createGzip(), createWriteStream(partial));
    else await pipeline(lines, createWriteStream(partial));
    if (file !== '-') await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  console.error(`${grouped(exported.events)} events${file === '-' ? '' : ` in ${file}`}`);
  if (exported.unreadable.length === 0) return 0;
  console.error(`These rows cannot be read and are not in the file:\n${exported.unreadable.join('\n')}`);
  return 1;
};

await runCommand(EXPORT, exportDays, { exitCode: 2, describe: (error) => storageFailure(error, tableName) });
