import { TableClient } from '@azure/data-tables';
import type { TokenCredential } from '@azure/identity';

import type { Settings } from '../settings.ts';

/**
 * A client for one of the service's tables, without the SDK's retries: its users know what may be repeated.
 *
 * @param name the table's name without the prefix
 */
export const tableClient = (
  { connection, prefix }: Settings['tables'],
  name: 'analytics' | 'calls',
  credential: TokenCredential,
): TableClient => {
  const options = { retryOptions: { maxRetries: 0 } };
  const table = `${prefix}${name}`;
  return 'connectionString' in connection
    ? // The settings accept plain http for loopback addresses only.
      TableClient.fromConnectionString(connection.connectionString, table, {
        ...options,
        allowInsecureConnection: true,
      })
    : new TableClient(connection.endpoint, table, credential, options);
};
