import { z } from 'zod';

import { settingSchemas, type Settings } from '../../../src/settings.ts';
import { mergeSettings, withoutLocalParts, type Settings as Given } from '../local-settings.ts';
import type { RunNote } from '../run-directory.ts';
import { AuditError } from './options.ts';

const { TABLES_CONNECTION_STRING, TABLES_ENDPOINT, TABLES_PREFIX } = settingSchemas;
const tablesSchema = z.object({ TABLES_CONNECTION_STRING, TABLES_ENDPOINT, TABLES_PREFIX });

/**
 * The storage to audit: the one that the environment names, else the settings file, else the Azurite of the local run. A settings
 * file that names the emulator on its usual port (for `func start`) comes last, as for `npm start`.
 *
 * @throws {AuditError} that names the wrong or missing settings, without their values
 */
export const storageToAudit = (
  environment: Readonly<Record<string, string | undefined>>,
  file: Given,
  port: number,
  note: RunNote | undefined,
): Settings['tables'] => {
  const given = mergeSettings(environment, withoutLocalParts(file), note?.tables ?? {}, file);
  const { success, data, error } = tablesSchema.safeParse(given);
  if (!success) {
    throw new AuditError(error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('\n'));
  }
  const { TABLES_CONNECTION_STRING: connectionString, TABLES_ENDPOINT: endpoint, TABLES_PREFIX: prefix = '' } = data;
  if (connectionString !== undefined && endpoint !== undefined) {
    throw new AuditError('TABLES_ENDPOINT cannot be set together with TABLES_CONNECTION_STRING');
  }
  if (connectionString !== undefined) return { connection: { connectionString }, prefix };
  if (endpoint !== undefined) return { connection: { endpoint }, prefix };
  const run =
    note === undefined
      ? `There is no local run on port ${port} (npm start).`
      : `The local run on port ${port} uses a storage that is named in its environment.`;
  throw new AuditError(
    `Set TABLES_CONNECTION_STRING or TABLES_ENDPOINT, in the environment or in a settings file.\n${run}`,
  );
};
