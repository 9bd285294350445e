import * as z from 'zod';

import { formatInstant, type Instant } from '../analytics/model/instant.ts';
import type { Period } from '../analytics/model/period.ts';
import type { CategoryTally } from '../analytics/model/tally.ts';
import type { Activity, Reader } from '../analytics/read/reader.ts';
import { identifier } from './request-values.ts';
import { type Answers, type ProblemAnswers, STORAGE_PROBLEMS } from './route/answers.ts';

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

const count = z.int().min(0);
const countsPerCategory = z.record(z.string(), count);
const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?\+00:00$/)
  .describe('UTC; a fraction (microseconds) only where there is one.');

const activitySchema = z
  .strictObject({
    ts_utc_start: time,
    ts_utc_end: time.describe('The last microsecond of the period: both ends are included.'),
    total_events: count.describe('Camera frames in the period.'),
    active_cameras: count.describe('How many distinct cameras sent them.'),
    active_camera_ids: z.array(z.string()).describe('Those cameras, sorted.'),
    counts_per_category: countsPerCategory.describe('Times the AI flagged each category.'),
    reviewed_total_events: count.describe('Events that an operator reviewed.'),
    reviewed_counts_per_category: countsPerCategory.describe(
      'Of the reviewed events, how many have at least one annotation of the category.',
    ),
    annotated_total_events: count.describe('Events that have annotations.'),
    annotated_counts_per_category: countsPerCategory.describe('Annotations per category, over all events.'),
  })
  .meta({ id: 'Analytics' });

/** What both analytics endpoints answer. */
export const ACTIVITY_ANSWERS = {
  200: {
    description: 'What happened. Every configured category is present in all three maps, 0 where nothing happened.',
    schema: activitySchema,
    examples: {
      day: {
        ts_utc_start: '2026-11-21T00:00:00+00:00',
        ts_utc_end: '2026-11-21T23:59:59.999999+00:00',
        total_events: 2,
        active_cameras: 2,
        active_camera_ids: ['ridge-04', 'ridge-05'],
        counts_per_category: { fire: 0, smoke: 1, structure: 0 },
        reviewed_total_events: 1,
        reviewed_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
        annotated_total_events: 1,
        annotated_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
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

/**
 * What happened in a period, as both analytics endpoints answer it.
 *
 * @param always categories that are present with 0 where nothing happened
 */
export const activityAnswer = (period: Period, { tally, activeCameras }: Activity, always: readonly string[]) => {
  const categories = [...new Set([...always, ...tally.categories.keys()])].sort();
  const counts = (of: keyof CategoryTally): Record<string, number> =>
    Object.fromEntries(categories.map((category) => [category, tally.categories.get(category)?.[of] ?? 0]));
  return {
    status: 200 as const,
    jsonBody: {
      ts_utc_start: formatInstant(period.start),
      ts_utc_end: formatInstant(period.end),
      total_events: tally.events,
      active_cameras: activeCameras.length,
      active_camera_ids: activeCameras,
      counts_per_category: counts('detections'),
      reviewed_total_events: tally.reviewed,
      reviewed_counts_per_category: counts('reviewed'),
      annotated_total_events: tally.annotated,
      annotated_counts_per_category: counts('annotations'),
    },
  };
};
