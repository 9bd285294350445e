import * as z from 'zod';

import { accuracyOf } from '../analytics/model/accuracy.ts';
import { dayOf } from '../analytics/model/day.ts';
import { withConfiguredCategories } from '../analytics/model/configured-categories.ts';
import {
  accuracyMembers,
  type AnalyticsDependencies,
  cameraId,
  countMembers,
  DATE_FORM,
  daysParameters,
  MAX_DAYS,
  queryProblems,
} from './analytics-answer.ts';
import { operation, type Route, route } from './route/route.ts';

const share = z.number().min(0).max(1).optional();

const accuracySchema = z
  .strictObject({
    date: z.string().meta({ format: 'date' }).describe('The last UTC day.'),
    days: z.int().min(1).max(MAX_DAYS).describe('How many UTC days end with it.'),
    camera_id: z.string().optional().describe('The camera that was asked about, where one was.'),
    total_events: countMembers.total_events,
    reviewed_total_events: countMembers.reviewed_total_events,
    categories: z
      .record(
        z.string(),
        z
          .strictObject({
            ...accuracyMembers,
            precision: share.describe('`confirmed` ÷ `flagged`; left out where nothing was flagged.'),
            recall: share.describe('`confirmed` ÷ (`confirmed` + `missed`); left out where both are 0.'),
          })
          .meta({ id: 'AccuracyOfCategory' }),
      )
      .describe('By category. Every configured category is present.'),
    without: z
      .array(z.string().meta({ format: 'date' }))
      .describe('Days that are not included because their counters do not keep these figures.'),
  })
  .meta({ id: 'AnalyticsAccuracy' });

/** `GET /api/analytics/accuracy`: how often the AI was right on UTC days, as far as operators reviewed its events. */
export const analyticsAccuracy = ({ reader, now, categories }: AnalyticsDependencies): Route =>
  route({
    name: 'AnalyticsAccuracy',
    path: 'analytics/accuracy',
    authLevel: 'function',
    GET: operation({
      operationId: 'getAnalyticsAccuracy',
      tag: 'analytics',
      summary: 'How often the AI was right',
      description:
        'Compares what the AI flagged with what operators annotated, in reviewed events alone. What nobody reviewed is in neither figure: compare `reviewed_total_events` with `total_events`.',
      query: z.object({ ...daysParameters, camera_id: cameraId }),
      conditional: true,
      answers: {
        200: {
          description: 'The figures of each category.',
          schema: accuracySchema,
          examples: {
            week: {
              date: '2026-11-21',
              days: 7,
              total_events: 1_200,
              reviewed_total_events: 60,
              categories: {
                fire: { flagged: 0, confirmed: 0, missed: 0 },
                smoke: { flagged: 40, confirmed: 30, missed: 10, precision: 0.75, recall: 0.75 },
              },
              without: [],
            },
          },
          csv: 'category,flagged,confirmed,missed,precision,recall,reviewed_total_events,total_events\r\nsmoke,40,30,10,0.75,0.75,60,1200\r\n',
        },
      },
      problems: queryProblems('date', DATE_FORM),
      handle: async ({ query: { date: asked, days, camera_id } }) => {
        const day = asked ?? dayOf(now());
        const { tally, without } = await reader.accuracy(day, days, camera_id);
        const figures = Array.from(withConfiguredCategories(tally, categories).categories, ([category, own]) => {
          const { precision, recall, ...counted } = accuracyOf(own);
          return [
            category,
            { ...counted, ...(precision !== undefined && { precision }), ...(recall !== undefined && { recall }) },
          ] as const;
        });
        return {
          status: 200,
          jsonBody: {
            date: day,
            days,
            ...(camera_id !== undefined && { camera_id }),
            total_events: tally.events,
            reviewed_total_events: tally.reviewed,
            categories: Object.fromEntries(figures),
            without,
          },
          csv: () => [
            ['category', ...FACTS, 'reviewed_total_events', 'total_events'],
            ...figures.map(([category, own]) =>
              [category].concat(
                FACTS.map((fact) => String(own[fact] ?? '')),
                String(tally.reviewed),
                String(tally.events),
              ),
            ),
          ],
        };
      },
    }),
  });

const FACTS = ['flagged', 'confirmed', 'missed', 'precision', 'recall'] as const;
