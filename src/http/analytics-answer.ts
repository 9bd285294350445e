import * as z from 'zod';

import { accuracyOf } from '../analytics/model/accuracy.ts';
import { isDay } from '../analytics/model/day.ts';
import { formatInstant, type Instant } from '../analytics/model/instant.ts';
import type { Period } from '../analytics/model/period.ts';
import type { CategoryDayTally, CategoryTally, DayTally, Tally } from '../analytics/model/tally.ts';
import type { Reader } from '../analytics/read/reader.ts';
import type { CsvRows } from '../csv.ts';
import { DAY_PATTERN, identifier, integer } from './request-values.ts';
import { count, STORAGE_PROBLEMS } from './route/answers.ts';
import { parameter } from './route/fields.ts';

export interface AnalyticsDependencies {
  readonly reader: Reader;
  readonly now: () => Instant;
  /** Categories that are always present in the answers. */
  readonly categories: readonly string[];
}

/** The common part of the declarations of these endpoints. */
export const ofAnalytics = {
  authLevel: 'function',
  tag: 'analytics',
  conditional: true,
  problems: STORAGE_PROBLEMS,
} as const;

export const cameraId = parameter(identifier.optional(), 'One camera. By default all cameras.', 'ridge-04');

export const date = parameter(
  z
    .string()
    .refine(isDay, 'must be a day that exists, such as 2026-11-21')
    .meta({ format: 'date', pattern: DAY_PATTERN })
    .optional(),
  'A UTC day that exists. By default today.',
  '2026-11-21',
);

const MAX_DAYS = 31;

export const daysParameters = {
  date: parameter(date, 'A UTC day that exists, the last one of `days`. By default today.', '2026-11-21'),
  days: parameter(integer(1, MAX_DAYS, 1), `How many UTC days, 1 to ${MAX_DAYS}: the days that end with \`date\`.`, 7),
};

export const daysMembers = {
  date: z.string().meta({ format: 'date' }).describe('The last UTC day.'),
  days: z.int().min(1).max(MAX_DAYS).describe('How many UTC days end with it.'),
};

/** The accuracy of the AI for a category. */
export const accuracyMembers = {
  flagged: count.describe('Reviewed events in which the AI flagged the category.'),
  confirmed: count.describe('Of those, the events with an annotation of the category.'),
  missed: count.describe('Reviewed events with an annotation of the category that the AI had not flagged.'),
};

const countsPerCategory = z.record(z.string(), count);

export const answeredTime = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?\+00:00$/)
  .describe('UTC. It has a fraction (microseconds) only if that is not 0.');

export const periodMembers = {
  ts_utc_start: answeredTime.describe('On a closed day, the start of the minute that the range begins in.'),
  ts_utc_end: answeredTime.describe(
    'The last microsecond of the period: both ends are included. On a closed day, the end of the minute that the range ends in.',
  ),
};

/** The counts in every answer about activity. */
export const countMembers = {
  total_events: count.describe('Camera frames in the period.'),
  counts_per_category: countsPerCategory.describe('Times the AI flagged each category.'),
  reviewed_total_events: count.describe('Events that an operator reviewed.'),
  reviewed_counts_per_category: countsPerCategory.describe(
    'Of the reviewed events, how many have at least one annotation of the category.',
  ),
  annotated_total_events: count.describe('Events that have annotations.'),
  annotated_counts_per_category: countsPerCategory.describe('Annotations per category, over all events.'),
};

/** How many cameras were active in a period. */
export const activeCameras = count.describe('How many distinct cameras sent them.');

export const answeredPeriod = ({ start, end }: Period) => ({
  ts_utc_start: formatInstant(start),
  ts_utc_end: formatInstant(end),
});

/**
 * The names of the categories in an answer, sorted: the configured categories, and each category with a number that is not 0. All three maps of an answer
 * have the same names. Zeros of stored tallies do not count: they depend on the order in which messages came.
 *
 * @param configured the categories of `DETECTION_CATEGORIES`
 */
const answeredCategories = ({ categories }: Tally, configured: Iterable<string>): readonly string[] => {
  const names = new Set(configured);
  for (const [category, counts] of categories) if (isCounted(counts)) names.add(category);
  return [...names].sort();
};

const isCounted = ({ detections, reviewed, annotations }: CategoryTally): boolean =>
  detections !== 0 || reviewed !== 0 || annotations !== 0;

/**
 * The counts of a tally in the form of an answer: the three maps have the same categories.
 *
 * @param configured categories that are always present, at least with 0
 */
export const answeredCounts = (tally: Tally, configured: readonly string[]) => {
  const categories = answeredCategories(tally, configured);
  const counts = (of: 'detections' | 'reviewed' | 'annotations'): Record<string, number> =>
    Object.fromEntries(categories.map((category) => [category, tally.categories.get(category)?.[of] ?? 0]));
  return {
    total_events: tally.events,
    counts_per_category: counts('detections'),
    reviewed_total_events: tally.reviewed,
    reviewed_counts_per_category: counts('reviewed'),
    annotated_total_events: tally.annotated,
    annotated_counts_per_category: counts('annotations'),
  };
};

/** The accuracy of the AI, by category. */
export const answeredAccuracy = (tally: DayTally, configured: readonly string[]) =>
  answeredCategories(tally, configured).map(
    (category) => [category, accuracyOf(tally.categories.get(category) ?? NO_COUNTS)] as const,
  );

const NO_COUNTS: CategoryDayTally = { detections: 0, reviewed: 0, annotations: 0, flagged: 0, confirmed: 0 };

const TOTALS = ['total_events', 'reviewed_total_events', 'annotated_total_events'];

/** A row of a table: single facts, and numbers by category. */
type Row = Readonly<Record<string, string | number | Readonly<Record<string, number>> | undefined>>;

/**
 * A table of counts: a column for each total, and one for each fact and category that any row has.
 *
 * @param before the facts to the left of the counts
 * @param after the facts to the right of the counts
 */
export const countsTable = (
  rows: readonly Row[],
  before: readonly string[],
  after: readonly string[] = [],
): CsvRows => {
  const cells = rows.map(cellsOf);
  const perCategory = new Set(cells.flatMap((row) => [...row.keys()].filter((head) => head.includes('.'))));
  const heads = [...before, ...TOTALS, ...[...perCategory].sort(), ...after];
  return [heads, ...cells.map((row) => heads.map((head) => row.get(head) ?? (perCategory.has(head) ? 0 : '')))];
};

/** The cells of a row, by column name. A number per category has its own column, such as `flagged.smoke`. */
const cellsOf = (row: Row): ReadonlyMap<string, string | number | undefined> =>
  new Map(
    Object.entries(row).flatMap(([fact, value]) =>
      typeof value === 'object'
        ? Object.entries(value).map(([category, number]) => [`${fact}.${category}`, number] as const)
        : [[fact, value] as const],
    ),
  );
