/** A process that closes old days once and ends. Arguments: a connection string and the name of the table. */
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { TableClient } from '@azure/data-tables';

import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { Table } from '../../../src/storage/table.ts';

const [, , connectionString = '', tableName = ''] = process.argv;
const client = TableClient.fromConnectionString(connectionString, tableName, {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
});
const table = new Table(new AzureTable(() => client), { format: FORMAT });
await closeDays(
  {
    table,
    shards: new DayShards(table, 1),
    retentionDays: 1,
    now: () => instantFrom(BigInt(Date.now()) * 1_000n),
  },
  { info: () => undefined, warn: console.error, error: console.error },
);
