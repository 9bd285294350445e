import { FORMAT } from '../../src/analytics/rows/format.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import { TableClient } from '@azure/data-tables';

import { DayShards } from '../../src/analytics/rows/day-shards.ts';
import { Reader } from '../../src/analytics/read/reader.ts';
import { Recorder } from '../../src/analytics/record/recorder.ts';
import { Table } from '../../src/storage/table.ts';
import type { Log } from '../../src/log.ts';

/** A silent log. */
export const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Recorder, reader and shards on one table, wired as in `main.ts`. */
export const countersOn = (
  connectionString: string,
  prefix: string,
  shards = 1,
  makeTable: (client: TableClient) => Table = (client) => new Table(new AzureTable(() => client), { format: FORMAT }),
): { client: TableClient; table: Table; dayShards: DayShards; recorder: Recorder; reader: Reader } => {
  const client = TableClient.fromConnectionString(connectionString, `${prefix}analytics`, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
  const table = makeTable(client);
  const dayShards = new DayShards(table, shards);
  return {
    client,
    table,
    dayShards,
    recorder: new Recorder(table, dayShards, SILENT),
    reader: new Reader(table, dayShards),
  };
};
