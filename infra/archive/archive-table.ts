import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { TableClient } from '@azure/data-tables';

import { lazyCredential } from '../../src/azure/credential.ts';
import { readSdkError } from '../../src/azure/sdk-error.ts';
import { storageToAudit } from '../local/audit/storage.ts';
import { readSettingsFile } from '../local/local-settings.ts';
import { readRunNote } from '../local/run-directory.ts';
import { ArchiveError } from './archive-error.ts';
import { UnexpectedOrder } from './partition-rows.ts';
import { Unsettled } from './settle-partition.ts';
import { TYPED_DOUBLES } from './typed-doubles.ts';

const LOCAL_SETTINGS = fileURLToPath(new URL('../../local.settings.json', import.meta.url));

/** Which storage is meant. */
export interface StorageChoice {
  readonly port: number;
  readonly settings: string | undefined;
}

/**
 * The table of the counters, in the storage that `npm run audit` would read. Requests are repeated: reading is harmless, and an
 * import looks at what is there when a write is said to conflict.
 *
 * @throws {ArchiveError} where no storage is named
 */
export const archiveTable = async ({ port, settings }: StorageChoice): Promise<TableClient> => {
  const file = settings ?? (existsSync(LOCAL_SETTINGS) ? LOCAL_SETTINGS : undefined);
  const given = file === undefined ? {} : await readSettingsFile(file).catch(sentenceOf);
  const note = await readRunNote(port);
  const { connection, prefix } = await Promise.resolve()
    .then(() => storageToAudit(process.env, given, port, note))
    .catch(sentenceOf);
  const options = { retryOptions: { maxRetries: 6 }, additionalPolicies: [TYPED_DOUBLES] };
  const name = `${prefix}analytics`;
  return 'connectionString' in connection
    ? TableClient.fromConnectionString(connection.connectionString, name, { ...options, allowInsecureConnection: true })
    : new TableClient(connection.endpoint, name, lazyCredential(), options);
};

// The cause may quote a file that holds keys.
const sentenceOf = (error: unknown): never => {
  throw new ArchiveError(error instanceof Error ? error.message : 'The settings cannot be read.', { cause: error });
};

/** What to print for an error that is no sentence yet; undefined for one that nobody expected. */
export const describeFailure = (error: unknown): string | undefined => {
  if (error instanceof Unsettled) {
    return `${error.message}: it never held still. Run the same command again when less is written; it reads only what has changed.`;
  }
  if (error instanceof UnexpectedOrder) return `${error.message}: this storage cannot be exported.`;
  const { status, code, unanswered } = readSdkError(error);
  if (status === 401 || status === 403) return 'The storage denies access: the key or the role is wrong.';
  if (code === 'TableNotFound') return 'There is no such table. Is TABLES_PREFIX the one that the service has?';
  if (unanswered === 'no token') return 'The storage requires an identity, and nobody is signed in here.';
  if (status !== undefined) return `The storage answered ${status}. The same command goes on from here.`;
  return unanswered === undefined || unanswered === 'unknown'
    ? undefined
    : 'The storage did not answer. The same command goes on from here.';
};
