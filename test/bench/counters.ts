import { TableClient } from '@azure/data-tables';

import { Reader } from '../../src/analytics/read/reader.ts';
import { Recorder } from '../../src/analytics/record/recorder.ts';
import { DayShards } from '../../src/analytics/rows/day-shards.ts';
import { FORMAT } from '../../src/analytics/rows/format.ts';
import type { Log } from '../../src/log.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import type { RowWrite } from '../../src/storage/row.ts';
import { Table } from '../../src/storage/table.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The SDK's client of a table, with nothing of the service around it. */
export const bareClient = (connectionString: string, table: string): TableClient =>
  TableClient.fromConnectionString(connectionString, table, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });

/** Recorder and reader on one shard of a table, wired as in `main.ts`. */
const wired = <Own extends Table>(client: TableClient, table: Own) => {
  const dayShards = new DayShards(table, 1);
  return { client, table, recorder: new Recorder(table, dayShards, SILENT), reader: new Reader(table, dayShards) };
};

/** Recorder and reader on the table with this prefix. */
export const countersOn = (connectionString: string, prefix: string) => {
  const client = bareClient(connectionString, `${prefix}analytics`);
  return wired(client, new Table(new AzureTable(() => client), { format: FORMAT }));
};

/** The same, with a table that keeps what it writes and counts what it reads. */
export const keptCountersOn = (connectionString: string, prefix: string) => {
  const client = bareClient(connectionString, `${prefix}analytics`);
  return wired(client, new KeepingTable(new AzureTable(() => client), { format: FORMAT }));
};

/** Keeps the transactions that it writes, so that these can be sent again with nothing around them, and counts the requests that it reads with. */
class KeepingTable extends Table {
  readonly writes: { readonly partition: string; readonly rows: readonly RowWrite[] }[] = [];
  reads = 0;

  override async transact(partition: string, rows: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, rows);
    this.writes.push({ partition, rows });
    return etags;
  }

  override async get(...args: Parameters<Table['get']>): ReturnType<Table['get']> {
    this.reads += 1;
    return super.get(...args);
  }

  override async page(...args: Parameters<Table['page']>): ReturnType<Table['page']> {
    this.reads += 1;
    return super.page(...args);
  }
}
