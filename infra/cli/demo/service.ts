import { z } from 'zod';

import { activeCameras, countMembers, periodMembers } from '../../../src/http/analytics-answer.ts';
import { CommandError } from '../command-line.ts';
import { polled } from '../../emulators/deadline.ts';

/** Most that one request may take. */
const REQUEST_MILLISECONDS = 60_000;

/** Most that reaching the demo's callees may take: three attempts each, as far apart as the settings of a local run have it. */
const REACHED_MILLISECONDS = 300_000;

const analyticsSchema = z.object({ ...periodMembers, active_cameras: activeCameras, ...countMembers });
export type Analytics = z.infer<typeof analyticsSchema>;

const sentSchema = z.object({ notification_id: z.string() });

/** The part of a notification's state that the demo looks at; all of it is printed. */
const notificationSchema = z.looseObject({ status: z.string() });

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

  /** The analytics of one UTC day, all cameras together. */
  day(date: string): Promise<Analytics> {
    return this.#ask(analyticsSchema, `/api/analytics/day?date=${date}`);
  }

  /** Places a test call. @throws {CommandError} if the service is a release build, which has none */
  async testCall(phoneNumber: string): Promise<void> {
    await this.#ask(sentSchema, '/api/test-call', [phoneNumber]);
  }

  /**
   * Has people phoned.
   *
   * @param idempotencyKey the same alert with the same key phones nobody again
   * @returns the notification's id
   */
  async alert(alert: object, idempotencyKey?: string): Promise<string> {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const body = { channel: 'phone', ...alert };
    return (await this.#ask(sentSchema, '/api/notifications', body, headers)).notification_id;
  }

  /**
   * Waits until nothing more will be done about a notification.
   *
   * @throws {CommandError} where that takes minutes
   */
  async completed(id: string): Promise<z.infer<typeof notificationSchema>> {
    const state = await polled(REACHED_MILLISECONDS, async () => {
      const now = await this.#ask(notificationSchema, `/api/notifications/${id}`);
      return now.status === 'in_progress' ? undefined : now;
    });
    if (state === undefined) throw new CommandError('The notification was not completed in time.');
    return state;
  }

  async #ask<Schema extends z.ZodType>(
    schema: Schema,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<z.infer<Schema>> {
    const response = await this.#request(path, body, headers);
    if (!response.ok) throw new CommandError(`${path} was answered with ${response.status}: ${await response.text()}`);
    return schema.parse(await response.json());
  }

  async #request(path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const posted = { method: 'POST', body: JSON.stringify(body) };
    try {
      return await fetch(`${this.url}${path}`, {
        signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
        headers: { 'content-type': 'application/json', ...headers },
        ...(body !== undefined && posted),
      });
    } catch (error) {
      throw new CommandError(
        `Nothing answers at ${this.url}. Start the service with "npm start", or name another one with --url.`,
        { cause: error },
      );
    }
  }
}
