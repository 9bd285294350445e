/**
 * `npm run audit -- --date YYYY-MM-DD`: compares every counter of a day with its event rows. Only reads. Ends with 0 where all
 * is right, with 1 where something differs, and with 2 where that could not be found out.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { auditDay } from '../../src/analytics/audit/audit.ts';
import { DayShards } from '../../src/analytics/rows/day-shards.ts';
import { CounterTable } from '../../src/analytics/rows/table.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { tableClient } from '../../src/azure/table-client.ts';
import { AuditError, readAuditOptions } from './audit/options.ts';
import { failureText, reportText } from './audit/report.ts';
import { storageToAudit } from './audit/storage.ts';
import { readSettingsFile, type Settings } from './local-settings.ts';
import { readRunNote } from './run-directory.ts';

const LOCAL_SETTINGS = fileURLToPath(new URL('../../local.settings.json', import.meta.url));

const settingsOf = async (file: string): Promise<Settings> => {
  try {
    return await readSettingsFile(file);
  } catch (error) {
    // Its cause quotes the file, which may hold keys.
    throw new AuditError(error instanceof Error ? error.message : `${file} cannot be read.`, { cause: error });
  }
};

let tableName = 'analytics';

const audit = async (): Promise<number> => {
  const { day, port, settingsFile } = readAuditOptions(process.argv.slice(2));
  const file = settingsFile ?? (existsSync(LOCAL_SETTINGS) ? LOCAL_SETTINGS : undefined);
  const fileSettings = file === undefined ? {} : await settingsOf(file);
  const storage = storageToAudit(process.env, fileSettings, port, await readRunNote(port));

  const client = tableClient(storage, 'analytics', lazyCredential());
  tableName = client.tableName;
  const table = new CounterTable(() => client, { makesTable: false });
  // How many shards a new day would get is for those who write.
  const report = await auditDay(table, new DayShards(table, 1), day);
  console.log(reportText(report, tableName));
  return report.differences.length === 0 ? 0 : 1;
};

audit().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(failureText(error, tableName) ?? error);
    process.exitCode = 2;
  },
);
