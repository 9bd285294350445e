import * as z from 'zod';

import { countSteps, STEPS } from '../analytics/model/period.ts';
import type { Activity } from '../analytics/read/range-reader.ts';
import {
  activeCameras,
  type AnalyticsDependencies,
  answeredCounts,
  answeredPeriod,
  cameraId,
  countMembers,
  countsTable,
  periodMembers,
  ofAnalytics,
} from './analytics-answer.ts';
import { periodOf, rangeParameters, rangeRule, RANGE_RULES, WHEN_ENDS_ARE_RIGHT } from './range-parameters.ts';
import { fault } from './route/faults.ts';
import { parameter, whenRight } from './route/fields.ts';
import { get, type Route } from './route/route.ts';

/** A day of minutes fits, and a year of days; an answer with more would be slow to make and to plot. */
const MAX_STEPS = 1_500;

const parameters = {
  ...rangeParameters,
  step: parameter(
    z.enum(STEPS, `must be ${STEPS.slice(0, -1).join(', ')} or ${STEPS.at(-1)}`).default('hour'),
    'How long each step is. The first step of a day starts at midnight UTC, and the others follow one after another.',
    'hour',
  ),
  camera_id: cameraId,
};

const seriesSchema = z
  .object({
    ...periodMembers,
    step: z.enum(STEPS),
    camera_id: z.string().optional().describe('The `camera_id` of the request.'),
    steps: z
      .array(
        z.object({ ...periodMembers, active_cameras: activeCameras, ...countMembers }).meta({ id: 'AnalyticsOfStep' }),
      )
      .max(MAX_STEPS)
      .describe('In order, empty ones included. The first and the last count only events in the range.'),
  })
  .meta({ id: 'AnalyticsSeries' });

/**
 * `GET /api/analytics/series`: the counts in each step of a period. The steps add up to what `GET /api/analytics` answers.
 *
 * @param windowSeconds the length of the sliding window, in seconds
 */
export const analyticsSeries = ({ reader, now, categories }: AnalyticsDependencies, windowSeconds: number): Route =>
  get('AnalyticsSeries', 'analytics/series', {
    ...ofAnalytics,
    operationId: 'getAnalyticsSeries',
    summary: 'Counts of each step of a period',
    description: `${RANGE_RULES} At most ${MAX_STEPS} steps. Adding up the steps gives what \`/api/analytics\` answers for the range.`,
    query: z
      .object(parameters)
      .superRefine(rangeRule, WHEN_ENDS_ARE_RIGHT)
      .superRefine(
        ({ step, ...range }, context) => {
          const count = countSteps(periodOf(range, now(), windowSeconds), step);
          if (count > MAX_STEPS) context.addIssue(fault('too_many', tooManySteps(count), { path: ['step'] }));
        },
        whenRight('ts_utc_start', 'ts_utc_end', 'step'),
      ),
    answers: {
      200: {
        description: 'The counts of each step. Every configured category is present in every step.',
        schema: seriesSchema,
        hasTable: true,
      },
    },
    handle: async ({ query: { step, camera_id, ...range } }) => {
      const asked = periodOf(range, now(), windowSeconds);
      const activities = await reader.series(asked, step, camera_id);
      const steps = activities.map((ofStep) => stepAnswer(ofStep, categories));
      const start = activities[0]?.period.start ?? asked.start;
      const end = activities.at(-1)?.period.end ?? asked.end;
      return {
        status: 200,
        jsonBody: { ...answeredPeriod({ start, end }), step, camera_id, steps },
        csv: () => countsTable(steps, ['ts_utc_start', 'ts_utc_end', 'active_cameras']),
      };
    },
  });

const tooManySteps = (count: number): string =>
  `gives ${count} steps in this range; the maximum is ${MAX_STEPS}: use a longer step or a shorter range`;

const stepAnswer = (step: Activity, categories: readonly string[]) => {
  const { total_events, ...counts } = answeredCounts(step.tally, categories);
  return { ...answeredPeriod(step.period), total_events, active_cameras: step.cameras().size, ...counts };
};
