import assert from 'node:assert/strict';

import { onTestFinished } from 'vitest';
import { z } from 'zod';

import { formatInstant, instantFrom } from '../../src/analytics/model/instant.ts';
import type { PlainAnswer, PlainMessage, Question } from '../analytics/oracle.ts';
import { type App, type AppOptions, startApp, testEnvironment } from './app.ts';
import { checkedFetch } from './contract.ts';
import { cloudEventOf } from '../http/cloud-event.ts';

/** The oracle leaves out categories with 0. */
const counts = z
  .record(z.string(), z.number())
  .transform((all) => Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0)));
const answerSchema = z.object({
  total_events: z.number(),
  active_camera_ids: z.array(z.string()),
  counts_per_category: counts,
  reviewed_total_events: z.number(),
  reviewed_counts_per_category: counts,
  annotated_total_events: z.number(),
  annotated_counts_per_category: counts,
});

/** A running app over HTTP. Every answer is checked against the OpenAPI description. */
export type Watch = Awaited<ReturnType<typeof watchOf>>;

export const watchOf = async (app: App) => {
  const fetchChecked = await checkedFetch(app.url);
  const request = async (path: string, init: RequestInit = {}) => {
    const response = await fetchChecked(`${app.url}${path}`, init);
    return { status: response.status, headers: response.headers, body: await response.text() };
  };
  /** Sends a batch to `POST /api/events`. */
  const post = async (batch: unknown) => request('/api/events', { method: 'POST', body: JSON.stringify(batch) });
  return {
    app,
    request,
    post,
    /** Records messages; all of them must be valid. */
    record: async (messages: readonly PlainMessage[]): Promise<void> => {
      const { status, body } = await post(messages.map(cloudEventOf));
      assert.equal(status, 200, body);
    },
    /** `GET /api/analytics`, in the form of the oracle. */
    range: async ({ start, end, cameraId }: Question): Promise<PlainAnswer> => {
      const ends = { ts_utc_start: formatInstant(instantFrom(start)), ts_utc_end: formatInstant(instantFrom(end)) };
      const query = new URLSearchParams({ ...ends, ...(cameraId !== undefined && { camera_id: cameraId }) });
      const { status, body } = await request(`/api/analytics?${query.toString()}`);
      assert.equal(status, 200, body);
      return answerSchema.parse(JSON.parse(body));
    },
  };
};

/** An instance of the app that ends with the test. It has tables of its own unless the environment names others. */
export const startWatch = async (
  environment: Readonly<Record<string, string>> = {},
  options: Omit<AppOptions, 'environment'> = {},
): Promise<Watch> => {
  const app = await startApp({ environment: testEnvironment(environment), ...options });
  onTestFinished(async () => app.stop());
  return watchOf(app);
};
