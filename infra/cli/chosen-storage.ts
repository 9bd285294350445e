import { z } from 'zod';

import { tableOfShards } from '../../src/analytics/rows/keys.ts';
import { readSdkError } from '../../src/azure/sdk-error.ts';
import { RequestRefused, StorageTrouble, TableMissing } from '../../src/storage/errors.ts';
import { settingSchemas, type Settings } from '../../src/settings.ts';
import { CommandError } from './command-line.ts';
import { mergeSettings, readSettingsFile, type Settings as Given, withoutLocalParts } from './start/local-settings.ts';
import { readRunNote, type RunNote } from './start/run-directory.ts';

/** The table of the counters that a command works on. */
export interface ChosenCounters {
  readonly storage: Settings['tables'];
  /** How many shards each day has. The name of the table says it, too. */
  readonly shards: number;
  /** With the prefix. */
  readonly tableName: string;
}

/**
 * The table of the counters that a command works on: the environment names it, or the settings file, or it is the table of the local run on
 * this port.
 *
 * @param settingsFile a file like local.settings.json; undefined: the one of the repository, if it exists
 * @throws {CommandError} that names the wrong or missing settings, without their values
 */
export const chosenCounters = async (port: number, settingsFile: string | undefined): Promise<ChosenCounters> => {
  return countersFrom(process.env, await readSettingsFile(settingsFile), port, await readRunNote(port));
};

const { TABLES_CONNECTION_STRING, TABLES_ENDPOINT, TABLES_PREFIX, COUNTER_SHARDS } = settingSchemas;
const tablesSchema = z.object({ TABLES_CONNECTION_STRING, TABLES_ENDPOINT, TABLES_PREFIX, COUNTER_SHARDS });

/**
 * {@link chosenCounters} from its sources, the first source first: environment, settings file, note of the local run. The file's address of the
 * emulator on its usual port comes last, because it is meant for `func start`.
 */
export const countersFrom = (
  environment: Readonly<Record<string, string | undefined>>,
  file: Given,
  port: number,
  note: RunNote | undefined,
): ChosenCounters => {
  const given = mergeSettings(environment, withoutLocalParts(file), note?.tables ?? {}, file);
  const { success, data, error } = tablesSchema.safeParse(given);
  if (!success) {
    throw new CommandError(error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('\n'));
  }
  const { TABLES_CONNECTION_STRING: connectionString, TABLES_ENDPOINT: endpoint, TABLES_PREFIX: prefix = '' } = data;
  const shards = data.COUNTER_SHARDS;
  const counters = { shards, tableName: `${prefix}${tableOfShards(shards)}` };
  if (connectionString !== undefined && endpoint !== undefined) {
    throw new CommandError('TABLES_ENDPOINT cannot be set together with TABLES_CONNECTION_STRING.');
  }
  if (connectionString !== undefined) return { storage: { connection: { connectionString }, prefix }, ...counters };
  if (endpoint !== undefined) return { storage: { connection: { endpoint }, prefix }, ...counters };
  const run =
    note === undefined
      ? `There is no local run on port ${port} (npm start). --port names another port.`
      : `The local run on port ${port} uses the storage that its own environment variables name.`;
  throw new CommandError(
    `Set TABLES_CONNECTION_STRING or TABLES_ENDPOINT, in the environment or in a settings file.\n${run}`,
  );
};

/**
 * The reason of a failure of storage, without values of settings or messages of an SDK.
 *
 * @param table the name of the table
 * @returns undefined for other errors
 */
export const storageFailure = (error: unknown, table: string): string | undefined => {
  if (error instanceof TableMissing) {
    return `There is no table ${table} in this storage. Are TABLES_PREFIX and COUNTER_SHARDS those of the service?`;
  }
  if (error instanceof RequestRefused) return `The storage refused the request with status ${error.status}.`;
  if (!(error instanceof StorageTrouble)) return undefined;
  const { status, unanswered } = readSdkError(error.cause);
  if (status === 401 || status === 403) return 'The storage denies access: the key or the role is wrong.';
  if (unanswered === 'no token') return 'The storage requires an identity, and no account is signed in here.';
  return `The storage ${status === undefined ? 'did not answer' : `answered ${status}`} (${error.reason}).`;
};
