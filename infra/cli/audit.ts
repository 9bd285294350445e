/**
 * `npm run audit -- --date YYYY-MM-DD`: compares every counter of a UTC day with its event rows. Reads only, except with `--repair`,
 * which puts right what differs. Exit code 0: every counter is right; 1: some differ; 2: the day could not be audited or repaired.
 */
import { createInterface } from 'node:readline/promises';

import { auditDay } from '../../src/analytics/audit/audit.ts';
import { demandRepairable, repairDay, stepsOf } from '../../src/analytics/audit/repair.ts';
import { FORMAT } from '../../src/analytics/rows/format.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { azureTable } from '../../src/storage/azure-table.ts';
import { Table } from '../../src/storage/table.ts';
import { CommandError, runCommand } from './command-line.ts';
import { AUDIT, type AuditOptions } from './audit/options.ts';
import { failureText, firstLines, reportText } from './audit/report.ts';
import { chosenStorage } from './chosen-storage.ts';

let tableName = 'analytics';

/** Whether the person at the terminal agrees. */
const agrees = async (question: string): Promise<boolean> => {
  if (!process.stdin.isTTY) {
    throw new CommandError('Nobody can be asked here: add --yes to repair without asking. Nothing was changed.');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
};

/** Audits a day; if it is to be repaired, prints what the repair will do, asks, and does it. @returns the exit code */
const audit = async ({ date, port, settings, repair, yes }: AuditOptions): Promise<number> => {
  const storage = await chosenStorage(port, settings);
  tableName = `${storage.prefix}analytics`;
  const table = new Table(azureTable(storage, 'analytics', lazyCredential()), { format: FORMAT, isCreated: false });
  const audited = await auditDay(table, date);
  console.log(reportText(audited, tableName, repair));
  // A repair that was stopped at its very end has put everything right, and still keeps the day from being closed.
  if (audited.differences.length === 0 && !(repair && audited.isRepairing)) return 0;
  if (!repair) return 1;
  if (audited.fittingShards === undefined) demandRepairable(audited);
  const steps = Array.from(stepsOf(audited), (step) => `  ${step}`);
  console.log(`\nThe repair will\n${firstLines(steps).join('\n')}`);
  if (!yes && !(await agrees('Repair? (y/N) '))) {
    console.log('Nothing was changed.');
    return 1;
  }
  const report = await repairDay(table, audited, { say: (line) => console.log(`  ${line}`) });
  console.log(`\n${reportText(report, tableName, true)}`);
  return report.differences.length === 0 ? 0 : 1;
};

await runCommand(AUDIT, audit, { exitCode: 2, describe: (error) => failureText(error, tableName) });
