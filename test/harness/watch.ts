import assert from 'node:assert/strict';

import { onTestFinished } from 'vitest';
import { z } from 'zod';

import { formatInstant, instantFrom } from '../../src/analytics/model/instant.ts';
import type { PlainAnswer, PlainMessage, Question } from '../analytics/oracle.ts';
import { type App, type AppOptions, startApp, testEnvironment } from './app.ts';
import { type CheckedFetch, checkedFetch } from './contract.ts';
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
const recordedSchema = z.object({
  recorded: z.number(),
  unchanged: z.number(),
  errors: z.array(z.object({ index: z.number(), detail: z.string() })).optional(),
});
type Recorded = z.infer<typeof recordedSchema>;

/** A running app over HTTP. Every answer is checked against the OpenAPI description. */
export class Watch {
  readonly app: App;
  readonly #fetch: CheckedFetch;

  constructor(app: App, fetchChecked: CheckedFetch) {
    this.app = app;
    this.#fetch = fetchChecked;
  }

  /** Sends any request. */
  async request(path: string, init: RequestInit = {}) {
    const response = await this.#fetch(`${this.app.url}${path}`, init);
    return { status: response.status, headers: response.headers, body: await response.text() };
  }

  /** Sends a batch to `POST /api/events`. */
  async post(batch: unknown) {
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    return this.request('/api/events', { method: 'POST', headers, body: JSON.stringify(batch) });
  }

  /** Records messages; all of them must be valid. */
  async record(messages: readonly PlainMessage[]): Promise<Recorded> {
    return this.#recorded(messages.map(cloudEventOf), 200);
  }

  /** The result of a batch with wrong events. */
  async recordPartly(batch: readonly unknown[]): Promise<Recorded> {
    return this.#recorded(batch, 400);
  }

  async #recorded(batch: readonly unknown[], expected: number): Promise<Recorded> {
    const { status, body } = await this.post(batch);
    assert.equal(status, expected, body);
    return recordedSchema.parse(JSON.parse(body));
  }

  /** `GET /api/analytics`, in the form of the oracle. */
  async range({ start, end, cameraId }: Question): Promise<PlainAnswer> {
    const ends = { ts_utc_start: formatInstant(instantFrom(start)), ts_utc_end: formatInstant(instantFrom(end)) };
    return this.#answer('/api/analytics', { ...ends, ...(cameraId !== undefined && { camera_id: cameraId }) });
  }

  /** `GET /api/analytics/day` of a camera, in the form of the oracle. */
  async day(date: string, cameraId: string): Promise<PlainAnswer> {
    return this.#answer('/api/analytics/day', { date, camera_id: cameraId });
  }

  async #answer(path: string, query: Readonly<Record<string, string>>): Promise<PlainAnswer> {
    const { status, body } = await this.request(`${path}?${new URLSearchParams(query).toString()}`);
    assert.equal(status, 200, body);
    return answerSchema.parse(JSON.parse(body));
  }
}

/** An instance of the app that ends with the test. It has tables of its own unless the environment names others. */
export const startWatch = async (
  environment: Readonly<Record<string, string>> = {},
  options: Omit<AppOptions, 'environment'> = {},
): Promise<Watch> => {
  const app = await startApp({ environment: testEnvironment(environment), ...options });
  onTestFinished(async () => app.stop());
  return new Watch(app, await checkedFetch(app.url));
};
