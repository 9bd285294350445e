import { DefaultAzureCredential } from '@azure/identity';
import { TableClient } from '@azure/data-tables';

import type { Settings } from './settings.ts';

/**
 * A client for one of the service's tables, without retries of its own: its users know what may be repeated.
 *
 * @param name the table's name without the prefix
 */
export const tableClient = ({ connection, prefix }: Settings['tables'], name: 'analytics' | 'calls'): TableClient => {
  const options = { retryOptions: { maxRetries: 0 } };
  return 'connectionString' in connection
    ? TableClient.fromConnectionString(connection.connectionString, `${prefix}${name}`, {
        ...options,
        // Settings allow plain http for loopback addresses only: Azurite.
        allowInsecureConnection: true,
      })
    : new TableClient(connection.endpoint, `${prefix}${name}`, new DefaultAzureCredential(), options);
};
