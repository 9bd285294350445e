import * as z from 'zod';

import type { Table } from '../storage/table.ts';
import { Problem } from './problem.ts';
import { RETRY_AFTER } from './route/answers.ts';
import { operation, type Route, route } from './route/route.ts';

const NOT_NOW = 'The service cannot work now.';

/** `GET /api/health`: 200 when storage answers, 503 when not. Says no more: anyone may ask. */
export const health = (table: Table): Route =>
  route({
    name: 'Health',
    path: 'health',
    authLevel: 'anonymous',
    GET: operation({
      operationId: 'getHealth',
      tag: 'service',
      summary: 'Whether storage answers',
      query: 'any',
      answers: {
        200: {
          description: 'It does.',
          schema: z.strictObject({ status: z.literal('ok') }).meta({ id: 'Health' }),
          examples: { ok: { status: 'ok' } },
        },
      },
      problems: { 503: { description: 'It does not.', headers: RETRY_AFTER, detail: NOT_NOW } },
      handle: async () => {
        if (await table.answers()) return { status: 200, jsonBody: { status: 'ok' } };
        throw new Problem(503, { detail: NOT_NOW, headers: { 'retry-after': '5' } });
      },
    }),
  });
