import assert from 'node:assert/strict';

import { onTestFinished } from 'vitest';
import { z } from 'zod';

import { formatInstant, instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import type { PlainAnswer, PlainMessage, Question } from '../analytics/oracle.ts';
import { type App, type AppOptions, startApp, testEnvironment } from './app.ts';
import { type CheckedFetch, checkedFetch } from './contract.ts';
import { cloudEventOf } from '../http/cloud-event.ts';

/** Without the categories of which there is nothing; those that are known must be there, also with 0. */
const counts = z
  .object({ fire: z.number(), smoke: z.number(), structure: z.number() })
  .catchall(z.number())
  .transform((all): Readonly<Record<string, number>> =>
    Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0)),
  );

/** What is the same in a step of a series. */
const stepSchema = z.strictObject({
  ts_utc_start: z.string(),
  ts_utc_end: z.string(),
  active_cameras: z.number(),
  total_events: z.number(),
  counts_per_category: counts,
  reviewed_total_events: z.number(),
  reviewed_counts_per_category: counts,
  annotated_total_events: z.number(),
  annotated_counts_per_category: counts,
});
const answerSchema = stepSchema.extend({ active_camera_ids: z.array(z.string()) });
const seriesSchema = z.looseObject({ steps: z.array(stepSchema) });
const recordedSchema = z.object({
  recorded: z.number(),
  unchanged: z.number(),
  errors: z.array(z.object({ index: z.number(), detail: z.string() })).optional(),
});

/** The result of a batch of events. */
export type Recorded = z.infer<typeof recordedSchema>;

/** An answer of the service that agrees with its OpenAPI description. */
export interface Given {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const endsOf = ({ start, end }: Question) => ({
  ts_utc_start: formatInstant(instantFrom(start)),
  ts_utc_end: formatInstant(instantFrom(end)),
});

const microseconds = (text: string): bigint => {
  const instant = parseInstant(text);
  assert.ok(instant !== undefined, text);
  return instant;
};

/** A running app over HTTP. Every answer is checked against the OpenAPI description. */
export class Watch {
  readonly app: App;
  readonly #fetch: CheckedFetch;

  constructor(app: App, fetchChecked: CheckedFetch) {
    this.app = app;
    this.#fetch = fetchChecked;
  }

  /** Sends any request. */
  async request(path: string, init: RequestInit = {}): Promise<Given> {
    const response = await this.#fetch(`${this.app.url}${path}`, init);
    return { status: response.status, headers: response.headers, body: await response.text() };
  }

  /** Sends a batch to `POST /api/events`. */
  async post(batch: unknown): Promise<Given> {
    return this.request('/api/events', {
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents-batch+json' },
      body: JSON.stringify(batch),
    });
  }

  /** Records messages; all of them must be valid. */
  async record(messages: readonly PlainMessage[]): Promise<Recorded> {
    const { status, body } = await this.post(messages.map(cloudEventOf));
    assert.equal(status, 200, body);
    return recordedSchema.parse(JSON.parse(body));
  }

  /** The result of a batch with wrong events. */
  async recordPartly(batch: readonly unknown[]): Promise<Recorded> {
    const { status, body } = await this.post(batch);
    assert.equal(status, 400, body);
    return recordedSchema.parse(JSON.parse(body));
  }

  /** `GET /api/analytics`, in the form of the oracle. */
  async range(question: Question): Promise<PlainAnswer> {
    const ends = endsOf(question);
    const { ts_utc_start, ts_utc_end, ...answer } = await this.#answer('/api/analytics', ends, question.cameraId);
    assert.deepEqual({ ts_utc_start, ts_utc_end }, ends);
    return answer;
  }

  /** `GET /api/analytics/series` by the hour, in the form of the oracle. */
  async hours(period: Question) {
    const query = new URLSearchParams({ ...endsOf(period), step: 'hour' });
    const { status, body } = await this.request(`/api/analytics/series?${query.toString()}`);
    assert.equal(status, 200, body);
    return seriesSchema.parse(JSON.parse(body)).steps.map(({ ts_utc_start, ts_utc_end, ...counted }) => ({
      question: { start: microseconds(ts_utc_start), end: microseconds(ts_utc_end) },
      answered: counted,
    }));
  }

  /** `GET /api/analytics/day`, in the form of the oracle. */
  async day(date: string, cameraId?: string): Promise<PlainAnswer> {
    const { ts_utc_start, ts_utc_end, ...answer } = await this.#answer('/api/analytics/day', { date }, cameraId);
    assert.deepEqual([ts_utc_start, ts_utc_end], [`${date}T00:00:00+00:00`, `${date}T23:59:59.999999+00:00`]);
    return answer;
  }

  async #answer(
    path: string,
    query: Readonly<Record<string, string>>,
    cameraId: string | undefined,
  ): Promise<PlainAnswer & Readonly<Record<'ts_utc_start' | 'ts_utc_end', string>>> {
    const parameters = new URLSearchParams(query);
    if (cameraId !== undefined) parameters.set('camera_id', cameraId);
    const { status, body } = await this.request(`${path}?${parameters.toString()}`);
    assert.equal(status, 200, body);
    const { active_cameras, ...answer } = answerSchema.parse(JSON.parse(body));
    assert.equal(active_cameras, answer.active_camera_ids.length);
    return answer;
  }
}

type Settings = [environment?: Readonly<Record<string, string>>, options?: Omit<AppOptions, 'environment'>];

/** Instances of the app that share tables, which belong to the test. They end with it. */
export const startWatches = async (
  instances: number,
  ...[environment = {}, options = {}]: Settings
): Promise<readonly Watch[]> => {
  const all = testEnvironment(environment);
  const apps = await Promise.all(
    Array.from({ length: instances }, async () => startApp({ environment: all, ...options })),
  );
  const fetchChecked = await checkedFetch(apps[0]?.url ?? '');
  onTestFinished(async () => {
    await Promise.all(apps.map(async (app) => app.stop()));
  });
  return apps.map((app) => new Watch(app, fetchChecked));
};

/** One instance of the app, with tables that belong to the test. */
export const startWatch = async (...settings: Settings): Promise<Watch> => {
  const [watch] = await startWatches(1, ...settings);
  assert.ok(watch);
  return watch;
};
