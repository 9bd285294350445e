/**
 * `npm run audit -- --date YYYY-MM-DD`: compares every counter of a UTC day with its event rows. Reads only, except with `--repair`,
 * which puts right what differs. Exit code 0: every counter is right; 1: some differ; 2: the day could not be audited or repaired.
 */
import { auditDay } from '../../src/analytics/audit/audit.ts';
import { Table } from '../../src/storage/table.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { FORMAT } from '../../src/analytics/rows/format.ts';
import { azureTable } from '../../src/storage/azure-table.ts';
import { runCommand } from '../command-line.ts';
import { AUDIT, type AuditOptions } from './audit/options.ts';
import { repair } from './audit/repair.ts';
import { failureText, reportText } from './audit/report.ts';
import { chosenStorage } from './chosen-storage.ts';

let tableName = 'analytics';

const audit = async ({ day, port, settingsFile, repair: repairs, yes }: AuditOptions): Promise<number> => {
  const storage = await chosenStorage(port, settingsFile);
  tableName = `${storage.prefix}analytics`;
  const table = new Table(azureTable(storage, 'analytics', lazyCredential()), { format: FORMAT, isCreated: false });
  if (repairs) return repair(table, day, tableName, !yes);
  const report = await auditDay(table, day);
  console.log(reportText(report, tableName));
  return report.differences.length === 0 ? 0 : 1;
};

await runCommand(AUDIT, audit, { exitCode: 2, describe: (error) => failureText(error, tableName) });
