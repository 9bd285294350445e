import { TableClient } from '@azure/data-tables';

import { ONE_REQUEST } from '../src/azure/one-request.ts';
import { Reader } from '../src/analytics/read/reader.ts';
import { Recorder } from '../src/analytics/record/recorder.ts';
import { FORMAT } from '../src/analytics/rows/properties.ts';
import type { Log } from '../src/log.ts';
import { AzureTable } from '../src/storage/azure-table.ts';
import type { RowWrite } from '../src/storage/row.ts';
import { Table } from '../src/storage/table.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The SDK's client of a table, with nothing of the service around it. */
export const bareClient = (connectionString: string, table: string): TableClient =>
  TableClient.fromConnectionString(connectionString, table, {
    allowInsecureConnection: true,
    ...ONE_REQUEST,
  });

/** Recorder and reader on one shard of a table, wired as in `main.ts`. */
const wired = <Own extends Table>(client: TableClient, table: Own) => ({
  client,
  table,
  recorder: new Recorder(table, 1, SILENT),
  reader: new Reader(table, 1),
});

/** Recorder and reader on the table with this prefix. */
export const countersOn = (connectionString: string, prefix: string) => {
  const client = bareClient(connectionString, `${prefix}analytics`);
  return wired(client, new Table(new AzureTable(() => client), { format: FORMAT }));
};

/** Recorder and reader on a table that keeps its requests. */
export const keptCountersOn = (connectionString: string, prefix: string) => {
  const client = bareClient(connectionString, `${prefix}analytics`);
  return wired(client, new KeepingTable(client));
};

/** Keeps its transactions and its reads, so that a baseline can send them again through the SDK alone. */
class KeepingTable extends Table {
  readonly #bare: TableClient;
  readonly writes: { readonly partition: string; readonly rows: readonly RowWrite[] }[] = [];
  readonly reads: (() => Promise<unknown>)[] = [];

  constructor(bare: TableClient) {
    super(new AzureTable(() => bare), { format: FORMAT });
    this.#bare = bare;
  }

  override async transact(partition: string, rows: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, rows);
    this.writes.push({ partition, rows });
    return etags;
  }

  override async get(...[partition, key, { select } = {}]: Parameters<Table['get']>): ReturnType<Table['get']> {
    const queryOptions = select && { select: ['PartitionKey', 'RowKey', 'Timestamp', ...select] };
    this.reads.push(async () =>
      // A missing row is an answer.
      this.#bare.getEntity(partition, key, { ...(queryOptions && { queryOptions }) }).catch(() => undefined),
    );
    return super.get(partition, key, { select });
  }

  override async page(...args: Parameters<Table['page']>): ReturnType<Table['page']> {
    const [partition, { from, before }, { select } = {}] = args;
    const filter = `PartitionKey eq '${partition}' and RowKey ge '${from}' and RowKey lt '${before}'`;
    const queryOptions = { filter, ...(select && { select: ['PartitionKey', 'RowKey', 'Timestamp', ...select] }) };
    this.reads.push(async () => this.#bare.listEntities({ queryOptions }).byPage({ maxPageSize: 1_000 }).next());
    return super.page(...args);
  }
}
