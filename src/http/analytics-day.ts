import type { HttpHandler } from '@azure/functions';

import { dayOf, endOfDay, startOfDay } from '../analytics/model/day.ts';
import { activityAnswer } from './analytics-answer.ts';
import { dayQuery } from './analytics-query.ts';
import type { AnalyticsDependencies } from './analytics-range.ts';
import { answering } from './problem.ts';
import { readQuery } from './query.ts';
import { storageProblem } from './storage-problem.ts';

/** `GET /api/analytics/day`: what happened on a UTC day, today where none is given. */
export const analyticsDay = ({ reader, now, categories }: AnalyticsDependencies): HttpHandler =>
  answering(async (request) => {
    const query = readQuery(request, dayQuery);
    const day = query.date ?? dayOf(now());
    const period = { start: startOfDay(day), end: endOfDay(day) };
    return activityAnswer(period, await reader.activity(period, query.camera_id), categories);
  }, storageProblem);
