import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as later } from 'node:timers/promises';

import { z } from 'zod';

import { freePort } from '../../../infra/local/free-port.ts';
import type { Notification } from '../../../src/dashboard/browser/model/answers.ts';
import { dashboardPage, type DashboardPage } from '../../../src/dashboard/page-file.ts';
import { pageAnswer } from '../../../src/http/dashboard.ts';
import { camerasOf, countsOf, type Frame } from './frames.ts';

const counts = z.record(z.string(), z.number());
const eventsSchema = z.array(
  z.object({
    data: z.object({
      event_id: z.string(),
      camera_id: z.string(),
      ts_utc: z.string(),
      detections: counts.default({}),
      reviewed: z.boolean().default(false),
      annotations: counts.default({}),
    }),
  }),
);

const STEPS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const stepSchema = z.enum(['minute', 'hour', 'day']);

interface Answer {
  readonly status: number;
  readonly json: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const problem = (status: number, detail: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  json: { type: 'about:blank', title: 'Problem', status, detail },
});

/** `2026-11-21T08:00:00+00:00`, to the microsecond where the text has one. */
const answered = (text: string): string => text.replace(/\.000(?:000)?Z$/, 'Z').replace(/Z$/, '+00:00');

/**
 * Answers what the page asks by the contract of the service, over real HTTP: for developing the page, and for what cannot be
 * made to happen on demand in the service itself.
 */
export class StandIn {
  readonly frames = new Map<string, Frame>();
  notifications: readonly Notification[] = [];
  /** False: the service was started with PHONE=off. */
  phone = true;
  /** Answered to everything about analytics instead of an answer. */
  broken: Answer | undefined;
  /** What every endpoint but the page asks for; undefined: none does. */
  key: string | undefined;
  /** Milliseconds before every answer of the API. */
  delay = 0;
  /** What was asked of the API since the start: path with query, and what was answered. */
  readonly asked: { readonly path: string; readonly status: number; readonly key: string | undefined }[] = [];

  readonly url: string;
  readonly #port: number;
  readonly #page: () => Promise<DashboardPage>;
  #server: Server | undefined;

  private constructor(port: number, key: string | undefined, directory: string) {
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.key = key;
    this.#page = dashboardPage(directory);
  }

  /**
   * @param key every endpoint but the page asks for it; undefined: none does
   * @param directory where the page was built
   */
  static async start(key: string | undefined, directory: string): Promise<StandIn> {
    const service = new StandIn(await freePort(), key, directory);
    await service.start();
    return service;
  }

  /** Serves again, on the same address. */
  async start(): Promise<void> {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        console.error(error);
        response.statusCode = 500;
        response.end();
      });
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
  }

  /** Ends every connection and listens no more. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  record(frames: readonly Frame[]): void {
    for (const frame of frames) this.frames.set(frame.event_id, frame);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    if (url.pathname === '/api/dashboard') return this.#servePage(request, response);
    const header = request.headers['x-functions-key'];
    const key = typeof header === 'string' ? header : undefined;
    if (this.delay > 0) await later(this.delay);
    const answer =
      this.key !== undefined && key !== this.key ? { status: 401, json: undefined } : await this.#answer(request, url);
    const body = answer.json === undefined ? '' : JSON.stringify(answer.json);
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    const known = answer.status === 200 && request.headers['if-none-match'] === etag;
    const status = known ? 304 : answer.status;
    this.asked.push({ path: `${url.pathname}${url.search}`, status, key });
    response.writeHead(status, {
      ...(answer.status === 200
        ? { 'content-type': 'application/json', etag, 'cache-control': 'private, no-cache' }
        : {}),
      ...answer.headers,
    });
    response.end(known ? undefined : body);
  }

  async #servePage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = pageAnswer(await this.#page(), {
      acceptEncoding: String(request.headers['accept-encoding']),
      ifNoneMatch: request.headers['if-none-match'],
    });
    response.statusCode = answer.status;
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined) response.setHeader(name, value);
    response.end('body' in answer ? answer.body : undefined);
  }

  async #answer(request: IncomingMessage, url: URL): Promise<Answer> {
    const { pathname, searchParams: query } = url;
    if (pathname === '/api/events' && request.method === 'POST') return this.#recordBody(request);
    if (pathname.startsWith('/api/notifications')) {
      return this.#answerNotifications(pathname, query, request.method);
    }
    if (this.broken !== undefined) return this.broken;
    switch (pathname) {
      case '/api/analytics':
        return this.#activity(this.#ends(query), query);
      case '/api/analytics/day': {
        const date = query.get('date') ?? new Date().toISOString().slice(0, 10);
        return this.#activity([`${date}T00:00:00Z`, `${date}T23:59:59.999999Z`], query);
      }
      case '/api/analytics/series':
        return this.#series(query);
      case '/api/analytics/cameras':
        return this.#cameras(query);
      default:
        return { status: 404, json: undefined };
    }
  }

  async #recordBody(request: IncomingMessage): Promise<Answer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const events = eventsSchema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    this.record(events.map(({ data }) => data));
    return { status: 200, json: { recorded: events.length, unchanged: 0 } };
  }

  #ends(query: URLSearchParams): readonly [string, string] {
    const now = new Date();
    return [
      query.get('ts_utc_start') ?? new Date(now.getTime() - 86_400_000).toISOString(),
      query.get('ts_utc_end') ?? now.toISOString(),
    ];
  }

  #between(start: string, end: string, camera: string | null): readonly Frame[] {
    const [first, last] = [Date.parse(start), Date.parse(end)];
    return [...this.frames.values()].filter(
      ({ ts_utc: time, camera_id: id }) =>
        Date.parse(time) >= first && Date.parse(time) <= last && (camera === null || id === camera),
    );
  }

  #activity([start, end]: readonly [string, string], query: URLSearchParams): Answer {
    if (Date.parse(end) - Date.parse(start) > 366 * STEPS.day) {
      return problem(400, 'The range is longer than 366 days.');
    }
    const frames = this.#between(start, end, query.get('camera_id'));
    const ids = camerasOf(frames);
    return {
      status: 200,
      json: {
        ts_utc_start: answered(start),
        ts_utc_end: answered(end),
        active_cameras: ids.length,
        ...(query.get('active_camera_ids') !== 'false' && { active_camera_ids: ids }),
        ...countsOf(frames),
      },
    };
  }

  #series(query: URLSearchParams): Answer {
    const [start, end] = this.#ends(query);
    const step = stepSchema.parse(query.get('step') ?? 'hour');
    const length = STEPS[step];
    const [first, last] = [Math.floor(Date.parse(start) / length), Math.floor(Date.parse(end) / length)];
    if (last - first + 1 > 1_500) return problem(400, 'More than 1500 steps.');
    const inStep = Map.groupBy(this.#between(start, end, query.get('camera_id')), ({ ts_utc: time }) =>
      Math.floor(Date.parse(time) / length),
    );
    const steps = Array.from({ length: last - first + 1 }, (_, index) => {
      const frames = inStep.get(first + index) ?? [];
      const from = new Date((first + index) * length).toISOString();
      const until = `${new Date((first + index + 1) * length - 1).toISOString().slice(0, 23)}999Z`;
      return {
        ts_utc_start: answered(index === 0 ? start : from),
        ts_utc_end: answered(index === last - first ? end : until),
        active_cameras: camerasOf(frames).length,
        ...countsOf(frames),
      };
    });
    return { status: 200, json: { ts_utc_start: answered(start), ts_utc_end: answered(end), step, steps } };
  }

  #cameras(query: URLSearchParams): Answer {
    const date = query.get('date') ?? new Date().toISOString().slice(0, 10);
    const order = query.get('order_by') ?? 'total_events';
    const limit = Number(query.get('limit') ?? 50);
    const days = Number(query.get('days') ?? 1);
    const first = new Date(Date.parse(date) - (days - 1) * STEPS.day).toISOString().slice(0, 10);
    const byCamera = Map.groupBy(
      this.#between(`${first}T00:00:00Z`, `${date}T23:59:59.999Z`, null),
      ({ camera_id: id }) => id,
    );
    const cameras = Array.from(byCamera, ([id, frames]) => Object.assign(countsOf(frames), { camera_id: id }));
    const rank = (camera: (typeof cameras)[number]): number => {
      if (order === 'total_events' || order === 'reviewed_total_events' || order === 'annotated_total_events') {
        return camera[order];
      }
      return camera.counts_per_category[order] ?? 0;
    };
    cameras.sort((a, b) => rank(b) - rank(a) || (a.camera_id < b.camera_id ? -1 : 1));
    return { status: 200, json: { date, days, total_cameras: cameras.length, cameras: cameras.slice(0, limit) } };
  }

  #answerNotifications(pathname: string, query: URLSearchParams, method: string | undefined): Answer {
    if (!this.phone) return problem(503, 'The phone is off (PHONE=off).');
    if (pathname === '/api/notifications') {
      return { status: 200, json: { notifications: this.notifications.slice(0, Number(query.get('limit') ?? 20)) } };
    }
    const [asked = '', action] = pathname.slice('/api/notifications/'.length).split('/');
    const id = decodeURIComponent(asked);
    if (action === 'stop' && method === 'POST') this.#stop(id);
    const found = this.notifications.find((notification) => notification.notification_id === id);
    return found === undefined ? problem(404, 'No such notification.') : { status: 200, json: found };
  }

  /** Who waits or rings is stopped; who is being spoken to hears it to the end. */
  #stop(id: string): void {
    this.notifications = this.notifications.map((each) =>
      each.notification_id !== id || each.status !== 'in_progress'
        ? each
        : {
            ...each,
            status: 'stopped',
            recipients: each.recipients.map(({ next_attempt_at: _next, ...recipient }) =>
              ['waiting', 'ringing'].includes(recipient.status) ? { ...recipient, status: 'stopped' } : recipient,
            ),
          },
    );
  }
}
