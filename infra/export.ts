/**
 * `npm run export -- --date D --out DIR`: a day's rows as files. infra/archive/README.md tells how to use it.
 */
import { join } from 'node:path';

import { archiveTable, describeFailure } from './archive/archive-table.ts';
import { makeDisplay } from './archive/display.ts';
import { type DayExported, exportDay } from './archive/export-day.ts';
import { daysFrom, EXPORT } from './archive/options.ts';
import { Unsettled } from './archive/settle-partition.ts';
import { runCommand } from './command-line.ts';

const summary = (day: string, result: DayExported): string => {
  if (result.kind === 'no rows') return `${day}  no rows`;
  const { partitions } = result.manifest;
  const rows = partitions.reduce((sum, partition) => sum + partition.rows, 0).toLocaleString('en-GB');
  return `${day}  ${rows} rows in ${partitions.length} partitions${result.kind === 'earlier' ? ', exported before' : ''}`;
};

await runCommand(
  EXPORT,
  async ({ date, to = date, out, patience, port, settings }) => {
    const table = await archiveTable({ port, settings });
    const display = makeDisplay();
    let code = 0;
    try {
      for (const day of daysFrom(date, to)) {
        try {
          const result = await exportDay(table, {
            day,
            directory: join(out, day),
            patienceMs: patience * 60_000,
            onPartition:
              (partition) =>
              ({ pass, rows, total }) => {
                display.update(`${partition}, reading ${pass}`, rows, total);
              },
          });
          display.end();
          console.log(summary(day, result));
        } catch (error) {
          if (!(error instanceof Unsettled)) throw error;
          // The days after it may hold still.
          display.end();
          console.error(describeFailure(error));
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
