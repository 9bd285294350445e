import type { AuditReport } from '../../../src/analytics/audit/audit.ts';
import { RepairUnfinished } from '../../../src/analytics/audit/repair.ts';
import { NotRepairable } from '../../../src/analytics/audit/repair-lease.ts';
import { AuditUnsettled } from '../../../src/analytics/audit/shard-audit.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import { grouped } from '../grouped.ts';
import { storageFailure } from '../chosen-storage.ts';

const counted = (value: number, one: string): string => `${grouped(value)} ${one}${value === 1 ? '' : 's'}`;
const shardName = (shard: number | undefined): string =>
  shard === undefined ? 'day' : `shard ${String(shard).padStart(2, '0')}`;

/**
 * The report of an audit as text.
 *
 * @param table the name of the table that was read
 * @param isShort true: of the differences only the first
 */
export const reportText = (
  { day, shards, events, counters, closed, isRepairing, differences, byShard }: AuditReport,
  table: string,
  isShort = false,
): string => {
  const summary = `${day}, table ${table}: ${counted(shards, 'shard')}, ${counted(events, 'event')}, ${counted(counters, 'counter')} compared.`;
  const lines = byShard.map((report) =>
    [
      `  ${shardName(report.shard)}`,
      counted(report.events, 'event').padStart(18),
      counted(report.counters, 'counter').padStart(20),
      `   ${report.differences.length === 0 ? 'no differences' : counted(report.differences.length, 'difference')}`,
    ].join(''),
  );
  const found = differences.map(({ shard, counter, expected, stored }) =>
    [
      `${shardName(shard)}, ${counter}`,
      `  ${closed ? 'samples' : 'events'} say  ${expected}`,
      `  stored${closed ? '       ' : '      '}${stored}`,
    ].join('\n'),
  );
  const agrees = closed ? 'Its counters agree with each other.' : 'Every counter agrees with the event rows.';
  const verdict =
    differences.length === 0 ? agrees : `${counted(differences.length, 'difference')}. Nothing was changed.`;
  return [
    summary,
    ...(isRepairing ? ['A repair is at work, or was stopped: the day does not close until one has finished.'] : []),
    ...(closed ? ['The day is closed: its event rows are gone, except those of overflowed seconds.'] : []),
    '',
    ...(lines.length > 0 ? [...lines, ''] : []),
    ...(isShort ? firstLines(found) : found),
    ...(found.length > 0 ? [''] : []),
    verdict,
  ].join('\n');
};

/** What a repair prints of a list is enough to see what kind of damage there is; `npm run audit` prints all of it. */
const MOST_LINES = 20;

/** The first lines of a list, and how many more there are. */
export const firstLines = (lines: readonly string[]): readonly string[] =>
  lines.length <= MOST_LINES
    ? lines
    : [...lines.slice(0, MOST_LINES), `and ${grouped(lines.length - MOST_LINES)} more`];

/** The errors whose message is for the operator. */
const SAID = [AuditUnsettled, LaterFormat, NotRepairable, RepairUnfinished] as const;

/**
 * Why there is no report, as text without values of settings or messages of an SDK.
 *
 * @param table the name of the table
 * @returns undefined for an error that nobody expected
 */
export const failureText = (error: unknown, table: string): string | undefined =>
  error instanceof Error && SAID.some((kind) => error instanceof kind)
    ? sentence(error.message)
    : storageFailure(error, table);

const sentence = (text: string): string => {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.\n]/.test(capital) ? capital : `${capital}.`;
};
