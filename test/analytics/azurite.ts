import { TableClient } from '@azure/data-tables';
import { inject } from 'vitest';

import { ONE_REQUEST } from '../../src/azure/one-request.ts';
import { tableOfShards } from '../../src/analytics/rows/keys.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { CountingProcess } from './counting.ts';

/** The tables of counting in the Azurite of the test run, with a prefix of a test. */
export class CountingStorage {
  readonly prefix: string;

  constructor(prefix = ownTablesPrefix()) {
    this.prefix = prefix;
  }

  /** A client of the SDK for the table of a number of shards. */
  client(shards = 1): TableClient {
    return TableClient.fromConnectionString(
      inject('tablesConnectionString'),
      `${this.prefix}${tableOfShards(shards)}`,
      {
        allowInsecureConnection: true,
        ...ONE_REQUEST,
      },
    );
  }

  /** A process with empty memory. */
  process(shards = 1): CountingProcess {
    const client = this.client(shards);
    return new CountingProcess(new AzureTable(() => client), shards);
  }
}
