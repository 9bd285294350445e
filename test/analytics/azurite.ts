import { TableClient } from '@azure/data-tables';
import { inject } from 'vitest';

import { AzureTable } from '../../src/storage/azure-table.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { CountingProcess } from './counting.ts';

/** The table of counting in the Azurite of the test run, with a prefix of a test. */
export class CountingStorage {
  readonly prefix: string;

  constructor(prefix = ownTablesPrefix()) {
    this.prefix = prefix;
  }

  /** A client of the SDK for it. */
  client(): TableClient {
    return TableClient.fromConnectionString(inject('tablesConnectionString'), `${this.prefix}analytics`, {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    });
  }

  /** A process with empty memory. */
  process(counterShards = 1): CountingProcess {
    const client = this.client();
    return new CountingProcess(new AzureTable(() => client), counterShards);
  }
}
