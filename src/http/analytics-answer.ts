import * as z from 'zod';

import { isDay } from '../analytics/model/day.ts';
import { formatInstant, type Instant } from '../analytics/model/instant.ts';
import { withKnownCategories } from '../analytics/model/known-categories.ts';
import type { Period } from '../analytics/model/period.ts';
import type { Tally } from '../analytics/model/tally.ts';
import type { Reader } from '../analytics/read/reader.ts';
import type { CsvRows } from '../csv.ts';
import { DAY_PATTERN, identifier } from './request-values.ts';
import { parameter } from './route/fields.ts';

const count = z.int().min(0);

/** What the analytics endpoints need. */
export interface AnalyticsDependencies {
  readonly reader: Reader;
  /** The current time. */
  readonly now: () => Instant;
  /** Categories that are always present in the answers. */
  readonly categories: readonly string[];
}

/** The query parameter `camera_id`. */
export const cameraId = parameter(
  identifier.optional(),
  'One camera alone; all cameras where none is given.',
  'ridge-04',
);

/** What a date in a query must be, in words. */
export const DATE_FORM = 'must be a day that exists, such as 2026-11-21';

/** The query parameter `date`. */
export const date = parameter(
  z.string().refine(isDay, DATE_FORM).meta({ format: 'date', pattern: DAY_PATTERN }).optional(),
  'A UTC day that exists; today where none is given.',
  '2026-11-21',
);

const countsPerCategory = z.record(z.string(), count);

/** A time in an answer. */
export const answeredTime = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?\+00:00$/)
  .describe('UTC; a fraction (microseconds) only where there is one.');

/** The ends of a period in an answer. */
export const periodMembers = {
  ts_utc_start: answeredTime,
  ts_utc_end: answeredTime.describe('The last microsecond of the period: both ends are included.'),
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

/** Counts for an example: two frames of a day. */
export const EXAMPLE_COUNTS = {
  total_events: 2,
  counts_per_category: { fire: 0, smoke: 1, structure: 0 },
  reviewed_total_events: 1,
  reviewed_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
  annotated_total_events: 1,
  annotated_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
} as const;

/** A period as answers have it. */
export const answeredPeriod = ({ start, end }: Period) => ({
  ts_utc_start: formatInstant(start),
  ts_utc_end: formatInstant(end),
});

/**
 * The counts of a tally as answers have them.
 *
 * @param always categories that are present with 0 where nothing happened
 */
export const answeredCounts = (tally: Tally, always: readonly string[]) => {
  const { categories } = withKnownCategories(tally, always);
  const counts = (of: 'detections' | 'reviewed' | 'annotations'): Record<string, number> =>
    Object.fromEntries(Array.from(categories, ([category, own]) => [category, own[of]]));
  return {
    total_events: tally.events,
    counts_per_category: counts('detections'),
    reviewed_total_events: tally.reviewed,
    reviewed_counts_per_category: counts('reviewed'),
    annotated_total_events: tally.annotated,
    annotated_counts_per_category: counts('annotations'),
  };
};

/** The counts of one row of a table. */
type Counts = ReturnType<typeof answeredCounts>;

const TOTALS = ['total_events', 'reviewed_total_events', 'annotated_total_events'] as const;
const MAPS = ['counts_per_category', 'reviewed_counts_per_category', 'annotated_counts_per_category'] as const;

/**
 * A table of counts: a column for each total, and one for each fact and category that any row has.
 *
 * @param before the columns before them
 * @param after the columns after them
 */
export const countsTable = <Row extends Counts>(
  rows: readonly Row[],
  before: Columns<Row>,
  after: Columns<Row> = {},
): CsvRows => {
  const categories = [...new Set(rows.flatMap(({ counts_per_category: counts }) => Object.keys(counts)))].sort();
  const perCategory = MAPS.flatMap((fact) => categories.map((category) => [fact, category] as const));
  return [
    [...Object.keys(before), ...TOTALS, ...perCategory.map((column) => column.join('.')), ...Object.keys(after)],
    ...rows.map((row) => [
      ...Object.values(before).map((cellOf) => cellOf(row)),
      ...TOTALS.map((fact) => row[fact]),
      ...perCategory.map(([fact, category]) => (Object.hasOwn(row[fact], category) ? (row[fact][category] ?? 0) : 0)),
      ...Object.values(after).map((cellOf) => cellOf(row)),
    ]),
  ];
};

/** Heads of columns, and what is in their cells. */
type Columns<Row> = Readonly<Record<string, (row: Row) => string | number>>;
