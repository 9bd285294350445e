import * as z from 'zod';

import { isDay } from '../analytics/model/day.ts';
import { formatInstant, type Instant } from '../analytics/model/instant.ts';
import { withKnownCategories } from '../analytics/model/known-categories.ts';
import type { Period } from '../analytics/model/period.ts';
import type { CategoryTally, Tally } from '../analytics/model/tally.ts';
import type { Activity, Reader } from '../analytics/read/reader.ts';
import { identifier } from './request-values.ts';
import { type Answers, type ProblemAnswers, STORAGE_PROBLEMS } from './route/answers.ts';

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
export const cameraId = identifier
  .optional()
  .meta({ param: { description: 'One camera alone; all cameras where none is given.', example: 'ridge-04' } });

/** What a date in a query must be, in words. */
export const DATE_FORM = 'must be a day that exists, such as 2026-11-21';

/** The query parameter `date`. */
export const date = z
  .string()
  .refine(isDay, DATE_FORM)
  .meta({ format: 'date' })
  .optional()
  .meta({ param: { description: 'A UTC day that exists; today where none is given.', example: '2026-11-21' } });

/** The query parameter `active_camera_ids`. */
export const activeCameraIds = z
  .enum(['true', 'false'], 'must be true or false')
  .default('true')
  .meta({
    param: {
      description: '`false` leaves `active_camera_ids` out of the answer: there may be over a thousand.',
      example: 'false',
    },
  });

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

const activitySchema = z
  .strictObject({
    ...periodMembers,
    active_cameras: activeCameras,
    active_camera_ids: z
      .array(z.string())
      .optional()
      .describe('Those cameras, sorted; left out where that is asked for.'),
    ...countMembers,
  })
  .meta({ id: 'Analytics' });

/** Counts for an example: two frames of a day. */
export const EXAMPLE_COUNTS = {
  total_events: 2,
  counts_per_category: { fire: 0, smoke: 1, structure: 0 },
  reviewed_total_events: 1,
  reviewed_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
  annotated_total_events: 1,
  annotated_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
} as const;

/** What the endpoints about one period answer. */
export const ACTIVITY_ANSWERS = {
  200: {
    description: 'What happened. Every configured category is present in all three maps, 0 where nothing happened.',
    schema: activitySchema,
    examples: {
      day: {
        ts_utc_start: '2026-11-21T00:00:00+00:00',
        ts_utc_end: '2026-11-21T23:59:59.999999+00:00',
        active_cameras: 2,
        active_camera_ids: ['ridge-04', 'ridge-05'],
        ...EXAMPLE_COUNTS,
      },
    },
  },
} as const satisfies Answers;

/**
 * The problems of an analytics endpoint.
 *
 * @param field the wrong parameter of the example
 */
export const queryProblems = (field: string, detail: string): ProblemAnswers => ({
  400: {
    description: 'A parameter is wrong, unknown, empty or given twice.',
    detail: `${field} ${detail}`,
    errors: [{ field, detail }],
  },
  ...STORAGE_PROBLEMS,
});

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
  const counts = (of: keyof CategoryTally): Record<string, number> =>
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

/**
 * The columns of a table of counts, one for each total and for each category that any row has: their heads, and whole rows from the
 * cells that come before them.
 *
 * @param all the counts of every row
 */
export const countColumns = (all: readonly ReturnType<typeof answeredCounts>[]) => {
  const categories = [...new Set(all.flatMap((counts) => Object.keys(counts.counts_per_category)))].sort();
  const heads = COUNT_FACTS.flatMap((fact) =>
    fact.endsWith('_per_category') ? categories.map((category) => `${fact}.${category}`) : [fact],
  );
  const rowOf = (before: readonly (string | number)[], counts: ReturnType<typeof answeredCounts>) =>
    before.concat(
      COUNT_FACTS.flatMap((fact) => {
        const value = counts[fact];
        if (typeof value === 'number') return [value];
        return categories.map((category) => (Object.hasOwn(value, category) ? (value[category] ?? 0) : 0));
      }),
    );
  return { heads, rowOf };
};

const COUNT_FACTS = [
  'total_events',
  'reviewed_total_events',
  'annotated_total_events',
  'counts_per_category',
  'reviewed_counts_per_category',
  'annotated_counts_per_category',
] as const;

/**
 * What happened in a period, as the endpoints about one period answer it.
 *
 * @param always categories that are present with 0 where nothing happened
 * @param withIds whether the ids of the active cameras are answered
 */
export const activityAnswer = (
  period: Period,
  { tally, activeCameras: ids }: Activity,
  { always, withIds }: { readonly always: readonly string[]; readonly withIds: boolean },
) => {
  const { total_events, ...counts } = answeredCounts(tally, always);
  return {
    status: 200 as const,
    jsonBody: {
      ...answeredPeriod(period),
      total_events,
      active_cameras: ids.length,
      ...(withIds && { active_camera_ids: ids }),
      ...counts,
    },
  };
};
