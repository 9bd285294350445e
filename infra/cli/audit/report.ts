import type { AuditReport, Difference } from '../../../src/analytics/audit/audit.ts';
import { RewriteAbandoned, RewriteRefused } from '../../../src/analytics/audit/rewrite.ts';
import { LaterFormat } from '../../../src/storage/errors.ts';
import { grouped } from '../grouped.ts';
import { storageFailure } from '../chosen-storage.ts';

const counted = (value: number, one: string): string => `${grouped(value)} ${one}${value === 1 ? '' : 's'}`;

/** `all cameras, hour 08: total_events 12 → 13`: the answer of the service, and the count of the rows. */
const differenceText = ({ counter, facts, damage }: Difference): string =>
  `  ${counter}: ${damage ?? facts.map(({ fact, answered, counted: own }) => `${fact} ${grouped(answered)} → ${grouped(own)}`).join(', ')}`;

/**
 * The report of an audit as text.
 *
 * @param table the name of the table that was read
 * @param most the most lines of each list
 */
export const reportText = (report: AuditReport, table: string, most = Infinity): string => {
  const { day, row, closed, events, answers, differences, unreadable, unsettled } = report;
  const shards = row === undefined ? [] : [counted(row.shards, 'shard')];
  const rows = closed ? 'samples' : 'event rows';
  const lists = [
    [
      `${counted(unreadable.length, closed ? 'row' : 'event row')} cannot be decoded:`,
      unreadable.map(({ row: own, damage }) => `  ${own.partitionKey} ${own.rowKey}: ${damage}`),
    ],
    [`${counted(differences.length, 'answer')} will change if the day is rewritten:`, differences.map(differenceText)],
    [
      `${counted(unsettled.length, 'answer')} could not be compared, because events kept arriving. Try again later:`,
      unsettled.map((counter) => `  ${counter}`),
    ],
  ] as const;
  return [
    `${day}, table ${table}: ${[...shards, counted(events, 'event'), `${counted(answers, 'answer')} compared`].join(', ')}.`,
    ...(row?.hold === undefined ? [] : ['A rewrite of this day is running, or was interrupted.']),
    ...(closed ? ['The day is closed: its event rows are gone, except those of overflowed seconds.'] : []),
    ...lists.flatMap(([head, lines]) => (lines.length === 0 ? [] : ['', head].concat(firstLines(lines, most)))),
    '',
    differences.length + unreadable.length > 0
      ? `${counted(differences.length, 'difference')}. Nothing was changed.`
      : unsettled.length > 0
        ? 'No difference was found so far.'
        : `Every answer agrees with the ${rows}.`,
  ].join('\n');
};

/** The first lines of a list, and the number of the others. */
const firstLines = (lines: readonly string[], most: number): readonly string[] =>
  lines.length <= most ? lines : [...lines.slice(0, most), `  and ${grouped(lines.length - most)} more`];

/** 0: every answer is right; 1: some differ; 2: some could not be compared. */
export const exitCodeOf = ({ differences, unreadable, unsettled }: AuditReport): number =>
  differences.length + unreadable.length > 0 ? 1 : unsettled.length > 0 ? 2 : 0;

/** The errors whose message is for the operator. */
const SAID = [LaterFormat, RewriteRefused, RewriteAbandoned] as const;

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
