import { isDeepStrictEqual } from 'node:util';

import { expect } from 'vitest';

import { auditDay, type AuditReport } from '../../../src/analytics/audit/audit.ts';
import { repairDay } from '../../../src/analytics/audit/repair.ts';
import type { Table } from '../../../src/storage/table.ts';
import type { CountingProcess } from '../counting.ts';
import { DAY, MIDNIGHT, MINUTE } from '../damaged-day.ts';
import { Oracle, type PlainMessage, type Question } from '../oracle.ts';

const QUESTIONS: readonly Question[] = [
  { start: MIDNIGHT, end: MIDNIGHT + 1_440n * MINUTE - 1n },
  { start: MIDNIGHT, end: MIDNIGHT + 1_440n * MINUTE - 1n, cameraId: 'ridge-0' },
  // Whole hours and minutes, and a part of a minute, in which f-8 of ridge-0 is.
  { start: MIDNIGHT + 485n * MINUTE, end: MIDNIGHT + 488n * MINUTE },
  { start: MIDNIGHT + 420n * MINUTE, end: MIDNIGHT + 541n * MINUTE + 5n },
];

const oracleOf = (told: readonly PlainMessage[]): Oracle => {
  const oracle = new Oracle();
  for (const message of told) oracle.tell(message);
  return oracle;
};

/** The answers of a process that are not the oracle's. */
export const wrongAnswers = async (
  process: CountingProcess,
  told: readonly PlainMessage[],
): Promise<readonly unknown[]> => {
  const oracle = oracleOf(told);
  const wrong: unknown[] = [];
  for (const question of QUESTIONS) {
    const [answer, right] = [await process.answer(question), oracle.answer(question)];
    if (!isDeepStrictEqual(answer, right)) wrong.push({ question, answer, right });
  }
  return wrong;
};

/** Repairs the day, after an audit where it was not audited yet; returns what was said. */
export const repaired = async (table: Table, audited?: AuditReport): Promise<readonly string[]> => {
  const lines: string[] = [];
  const report = await repairDay(table, audited ?? (await auditDay(table, DAY)), { say: (line) => lines.push(line) });
  expect(report.differences).toEqual([]);
  return lines;
};
