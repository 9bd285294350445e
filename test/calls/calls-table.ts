import { TableClient, type TableServiceClientOptions } from '@azure/data-tables';
import { inject } from 'vitest';

import { CallsTable } from '../../src/calls/store/calls-table.ts';
import { ownTablesPrefix } from '../harness/app.ts';

type Policy = NonNullable<TableServiceClientOptions['additionalPolicies']>[number]['policy'];

/** Where a test's table `calls` is. */
export interface CallsTableOptions {
  /** That of another table of the test, to use the same one; a table of its own where it is not given. */
  readonly prefix?: string;
  /** Of another storage than that of all tests. */
  readonly connectionString?: string;
  /** What happens to requests on their way. */
  readonly sendRequest?: Policy['sendRequest'];
}

/** The table `calls`, as one instance of the service uses it. */
export const callsTable = ({
  prefix = ownTablesPrefix(),
  connectionString = inject('tablesConnectionString'),
  sendRequest = async (request, next) => next(request),
}: CallsTableOptions = {}): CallsTable => {
  const client = TableClient.fromConnectionString(connectionString, `${prefix}calls`, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [{ position: 'perCall', policy: { name: 'on the way', sendRequest } }],
  });
  return new CallsTable(() => client);
};
