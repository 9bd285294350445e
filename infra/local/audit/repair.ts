import { createInterface } from 'node:readline/promises';

import type { Day } from '../../../src/analytics/model/day.ts';
import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { NotRepairable, repairDay, stepsOf } from '../../../src/analytics/audit/repair.ts';
import type { Table } from '../../../src/storage/table.ts';
import { CommandError } from '../../command-line.ts';
import { firstLines, reportText } from './report.ts';

/** Whether the person at the terminal agrees. */
const agrees = async (question: string): Promise<boolean> => {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
};

/**
 * Audits a day, prints what a repair will do, asks, and does it.
 *
 * @param asks whether to ask before anything is written
 * @returns the exit code: 0 where every counter is right in the end, 1 where the person did not agree
 * @throws {CommandError} where nobody can be asked
 */
export const repair = async (table: Table, day: Day, tableName: string, asks: boolean): Promise<number> => {
  const audited = await auditDay(table, day);
  console.log(reportText(audited, tableName, true));
  if (audited.differences.length === 0) return 0;
  if (audited.closed) throw new NotRepairable('a closed day has no event rows to count from: it cannot be repaired');
  const steps = Array.from(stepsOf(audited), (step) => `  ${step}`);
  console.log(`\nThe repair will\n${firstLines(steps).join('\n')}`);
  if (asks) {
    if (!process.stdin.isTTY) {
      throw new CommandError('Nobody can be asked here: add --yes to repair without asking. Nothing was changed.');
    }
    if (!(await agrees('Repair? (y/N) '))) {
      console.log('Nothing was changed.');
      return 1;
    }
  }
  const report = await repairDay(table, audited, { say: (line) => console.log(`  ${line}`) });
  console.log(`\n${reportText(report, tableName, true)}`);
  return report.differences.length === 0 ? 0 : 1;
};
