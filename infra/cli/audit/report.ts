import type { AuditReport, Difference } from '../../../src/analytics/audit/audit.ts';
import { RebuildRefused } from '../../../src/analytics/audit/rebuild.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import { storageFailure } from '../chosen-storage.ts';
import { grouped } from '../grouped.ts';

const counted = (value: number, noun: string): string => `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`;

/** `all cameras, hour 08:00:00: total_events 12 → 13`: the answer of the service, and the count of the rows. */
const differenceText = (difference: Difference): string =>
  'damage' in difference
    ? `  ${difference.name}: ${difference.damage}`
    : `  ${difference.name} ${grouped(difference.answered)} → ${grouped(difference.counted)}`;

/**
 * The report of an audit as text.
 *
 * @param table the name of the table that was read
 * @param most the maximum number of lines of each list
 */
export const reportText = (report: AuditReport, table: string, most = Infinity): string => {
  const { day, sealed, isStill, events, compared, differences, unreadable } = report;
  const lists = [
    [
      unreadable.count,
      `${counted(unreadable.count, 'event row')} cannot be decoded:`,
      unreadable.first.map((row) => `  ${row}`),
    ],
    [
      isStill ? differences.count : 0,
      `${counted(differences.count, 'number')} of the answers will change if the day is rebuilt:`,
      differences.first.map(differenceText),
    ],
  ] as const;
  return [
    `${day}, table ${table}: ${counted(events, 'event')}, ${counted(compared, 'number')} compared.`,
    ...(sealed === 'rebuilding' ? ['A rebuild of this day is running, or was stopped: the service answers 503.'] : []),
    ...(sealed === 'closed' ? ['The day is closed, and its event rows are deleted. It cannot be rebuilt.'] : []),
    ...lists.flatMap(([count, head, lines]) => (count === 0 ? [] : ['', head].concat(firstLines(lines, count, most)))),
    '',
    lastLine(report),
  ].join('\n');
};

const lastLine = (report: AuditReport): string => {
  switch (exitCodeOf(report)) {
    case 1:
      return `${counted(report.differences.count, 'difference')}. Nothing was changed.`;
    case 2:
      return report.sealed === 'rebuilding'
        ? 'Every answer would agree with the event rows. Open the day with --unseal, or rebuild it again.'
        : 'The day was written meanwhile. Try again later.';
    case 0:
      return report.sealed === 'closed'
        ? 'Its counters agree with one another.'
        : 'Every answer agrees with the event rows.';
  }
};

/** The first lines of a list, and the number of the others. */
const firstLines = (lines: readonly string[], count: number, most: number): readonly string[] => {
  const shown = lines.slice(0, most);
  return count === shown.length ? shown : [...shown, `  and ${grouped(count - shown.length)} more`];
};

/** 0: every answer is right; 1: some differ, or an event row cannot be decoded; 2: the day was written meanwhile, or has no answers now. */
export const exitCodeOf = ({ sealed, isStill, differences, unreadable }: AuditReport): 0 | 1 | 2 => {
  if (unreadable.count > 0 || (isStill && differences.count > 0)) return 1;
  return isStill && sealed !== 'rebuilding' ? 0 : 2;
};

/** The errors whose message is for the operator. */
const SAID = [LaterFormat, RebuildRefused] as const;

/**
 * The reason of a missing report, without values of settings or messages of an SDK.
 *
 * @param table the name of the table
 * @returns undefined for an unexpected error
 */
export const failureText = (error: unknown, table: string): string | undefined =>
  error instanceof Error && SAID.some((kind) => error instanceof kind)
    ? sentence(error.message)
    : storageFailure(error, table);

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.\n]$/.test(text) ? '' : '.'}`;
