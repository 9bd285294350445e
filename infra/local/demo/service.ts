import { setTimeout as delay } from 'node:timers/promises';

import { z } from 'zod';

import { CommandError } from '../../command-line.ts';
import type { CameraMessage } from './day.ts';

/** Most that one request may take. */
const REQUEST_MILLISECONDS = 60_000;

/** How often a batch is sent again that storage could not take. */
const SEND_ATTEMPTS = 5;

const recordedSchema = z.object({ recorded: z.number(), unchanged: z.number() });
export type Recorded = z.infer<typeof recordedSchema>;

const countsSchema = z.record(z.string(), z.number());

const analyticsSchema = z.object({
  ts_utc_start: z.string(),
  ts_utc_end: z.string(),
  total_events: z.number(),
  active_cameras: z.number(),
  counts_per_category: countsSchema,
  reviewed_total_events: z.number(),
  reviewed_counts_per_category: countsSchema,
  annotated_total_events: z.number(),
  annotated_counts_per_category: countsSchema,
});
export type Analytics = z.infer<typeof analyticsSchema>;

const sentCallsSchema = z.object({
  notification_id: z.string(),
  calls: z.array(z.object({ recipient: z.string(), status: z.string(), call_connection_id: z.string().optional() })),
});
/** What the service answers to a request to phone people. */
export type SentCalls = z.infer<typeof sentCallsSchema>;

/** The part of a notification's state that the demo looks at; all of it is printed. */
const notificationSchema = z.looseObject({ status: z.string() });
/** What became of a notification. */
export type NotificationState = z.infer<typeof notificationSchema>;

/** Most that reaching the demo's callees may take: three attempts each, as far apart as the settings of a local run have it. */
const REACHED_MILLISECONDS = 300_000;

/** The running service as the demo sees it: the same HTTP requests that anybody would send. */
export class Service {
  /** Of the service, without `/api` and a slash at its end. */
  readonly url: string;

  /** @param url of the service, without `/api` */
  constructor(url: string) {
    this.url = url.replace(/\/+$/, '');
  }

  /** @throws {CommandError} where the service does not run or its storage does not answer */
  async mustBeHealthy(): Promise<void> {
    const response = await this.#request('/api/health');
    if (!response.ok) throw new CommandError(`${this.url}/api/health answers ${response.status}: its storage is away.`);
  }

  /** Sends messages as one CloudEvents batch, again where the service asks for that. */
  async record(messages: readonly CameraMessage[]): Promise<Recorded> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#request('/api/events', 'application/cloudevents-batch+json', messages);
      if (response.ok) return recordedSchema.parse(await response.json());
      if (response.status !== 503 || attempt === SEND_ATTEMPTS) throw await refused('POST /api/events', response);
      await delay(Number(response.headers.get('retry-after') ?? 1) * 1_000);
    }
  }

  /** The analytics of one UTC day, all cameras together. */
  async day(date: string): Promise<Analytics> {
    const response = await this.#request(`/api/analytics/day?date=${date}`);
    if (!response.ok) throw await refused('GET /api/analytics/day', response);
    return analyticsSchema.parse(await response.json());
  }

  /** Places a test call. @throws {CommandError} if the service is a release build, which has none */
  async testCall(phoneNumber: string): Promise<SentCalls> {
    const response = await this.#request('/api/test-call', 'application/json', [phoneNumber]);
    if (!response.ok) throw await refused('POST /api/test-call', response);
    return sentCallsSchema.parse(await response.json());
  }

  /** Reports a confirmed fire to people in waves, of whom somebody has to press a key. */
  async alert(waves: readonly (readonly string[])[], reference: string): Promise<SentCalls> {
    const response = await this.#request('/api/notifications', 'application/json', {
      channel: 'phone',
      alert_type: 'ConfirmedFire',
      recipients: waves,
      confirm: true,
      wave_seconds: 60,
      reference,
    });
    if (!response.ok) throw await refused('POST /api/notifications', response);
    return sentCallsSchema.parse(await response.json());
  }

  /**
   * Waits until nothing more will be done about a notification.
   *
   * @throws {CommandError} where that takes minutes
   */
  async completed(id: string): Promise<NotificationState> {
    const end = performance.now() + REACHED_MILLISECONDS;
    while (performance.now() < end) {
      const response = await this.#request(`/api/notifications/${id}`);
      if (!response.ok) throw await refused('GET /api/notifications/{id}', response);
      const state = notificationSchema.parse(await response.json());
      if (state.status !== 'in_progress') return state;
      await delay(500);
    }
    throw new CommandError('The notification was not completed in time.');
  }

  async #request(path: string, contentType?: string, body?: unknown): Promise<Response> {
    try {
      return await fetch(`${this.url}${path}`, {
        signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
        ...(contentType === undefined
          ? {}
          : { method: 'POST', headers: { 'content-type': contentType }, body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new CommandError(
        `Nothing answers at ${this.url}. Start the service with "npm start", or name another one with --url.`,
        { cause: error },
      );
    }
  }
}

const refused = async (what: string, response: Response): Promise<CommandError> =>
  new CommandError(`${what} was answered with ${response.status}: ${await response.text()}`);
