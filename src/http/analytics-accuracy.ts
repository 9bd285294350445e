import * as z from 'zod';

import type { accuracyOf } from '../analytics/model/accuracy.ts';
import { dayOf } from '../analytics/model/day.ts';
import type { Tally } from '../analytics/model/tally.ts';
import {
  accuracyMembers,
  type AnalyticsDependencies,
  answeredAccuracy,
  cameraId,
  countMembers,
  daysMembers,
  daysParameters,
  ofAnalytics,
} from './analytics-answer.ts';
import { get, type Route } from './route/route.ts';

const share = z.number().min(0).max(1).optional();

const accuracySchema = z
  .object({
    ...daysMembers,
    camera_id: z.string().optional().describe('The `camera_id` of the request.'),
    total_events: countMembers.total_events,
    reviewed_total_events: countMembers.reviewed_total_events,
    categories: z
      .record(
        z.string(),
        z
          .object({
            ...accuracyMembers,
            precision: share.describe('`confirmed` ÷ `flagged`; left out if nothing was flagged.'),
            recall: share.describe('`confirmed` ÷ (`confirmed` + `missed`); left out if both are 0.'),
          })
          .meta({ id: 'AccuracyOfCategory' }),
      )
      .describe('By category. Every configured category is present.'),
    without: z
      .array(z.string().meta({ format: 'date' }))
      .describe(
        'Days that are not included because their counters do not keep these figures. Always empty in this version.',
      ),
  })
  .meta({
    id: 'AnalyticsAccuracy',
    examples: [
      {
        date: '2026-11-20',
        days: 1,
        total_events: 1,
        reviewed_total_events: 1,
        categories: {
          fire: { flagged: 0, confirmed: 0, missed: 1, recall: 0 },
          smoke: { flagged: 1, confirmed: 1, missed: 0, precision: 1, recall: 1 },
        },
        without: [],
      },
    ],
  });

/** `GET /api/analytics/accuracy`: how often the AI was right, counted over the reviewed events of UTC days. */
export const analyticsAccuracy = ({ reader, now, categories }: AnalyticsDependencies): Route =>
  get('AnalyticsAccuracy', 'analytics/accuracy', {
    ...ofAnalytics,
    operationId: 'getAnalyticsAccuracy',
    summary: 'How often the AI was right',
    description:
      'Compares the flags of the AI with the annotations of operators, in reviewed events only: compare `reviewed_total_events` with `total_events`.',
    query: z.object({ ...daysParameters, camera_id: cameraId }),
    answers: {
      200: {
        description: 'The figures of each category.',
        schema: accuracySchema,
        hasTable: true,
      },
    },
    handle: async ({ query: { date: asked, days, camera_id } }) => {
      const day = asked ?? dayOf(now());
      const tally = await reader.accuracy(day, days, camera_id);
      const figures = answeredAccuracy(tally, categories);
      return {
        status: 200,
        jsonBody: {
          date: day,
          days,
          camera_id,
          total_events: tally.events,
          reviewed_total_events: tally.reviewed,
          categories: Object.fromEntries(figures),
          without: [],
        },
        csv: () => [
          ['category', ...FACTS, 'reviewed_total_events', 'total_events'],
          ...figures.map(([category, own]) => rowOf(category, own, tally)),
        ],
      };
    },
  });

const FACTS = ['flagged', 'confirmed', 'missed', 'precision', 'recall'] as const;

const rowOf = (category: string, own: Partial<ReturnType<typeof accuracyOf>>, { reviewed, events }: Tally) => [
  category,
  ...FACTS.map((fact) => own[fact] ?? ''),
  reviewed,
  events,
];
