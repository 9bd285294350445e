import type { HttpHandler } from '@azure/functions';

import type { CounterTable } from '../analytics/rows/table.ts';
import { answering, Problem } from './problem.ts';

/** `GET /api/health`: 200 when storage answers, 503 when not. Says no more: anyone may ask. */
export const health = (table: CounterTable): HttpHandler =>
  answering(async () => {
    if (await table.answers()) return { status: 200, jsonBody: { status: 'ok' } };
    throw new Problem(503, { detail: 'The service cannot work now.', headers: { 'retry-after': '5' } });
  });
