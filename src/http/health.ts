import * as z from 'zod';

import type { Table } from '../storage/table.ts';
import { Problem } from './problem.ts';
import { get, type Route } from './route/route.ts';

/** The endpoint is public, so storage is asked only once in this time, in milliseconds. */
const ONE_PROBE_A_MS = 1_000;

/**
 * `GET /api/health`: 200 when storage answers, 503 when not, as of the last second. Says no more: anyone may ask.
 *
 * @param now the time in milliseconds; only differences count
 */
export const health = (table: Pick<Table, 'get'>, now = () => performance.now()): Route => {
  let last: { readonly at: number; readonly answer: Promise<boolean> } | undefined;
  const storageAnswers = async () => {
    if (last === undefined || now() - last.at >= ONE_PROBE_A_MS) {
      const asked = table.get('-', '-', { tries: 1 });
      last = { at: now(), answer: asked.then(() => true).catch(() => false) };
    }
    return last.answer;
  };
  return get('Health', 'health', {
    authLevel: 'anonymous',
    operationId: 'getHealth',
    tag: 'service',
    summary: 'Whether storage answers',
    query: 'any',
    answers: {
      200: {
        description: 'Storage answers.',
        schema: z.object({ status: z.literal('ok') }).meta({ id: 'Health' }),
      },
    },
    problems: ['unhealthy'],
    handle: async () => {
      if (await storageAnswers()) return { status: 200, jsonBody: { status: 'ok' } };
      throw new Problem('unhealthy', { headers: { 'retry-after': '5' } });
    },
  });
};
