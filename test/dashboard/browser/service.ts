import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';

import { HttpRequest, HttpResponse, type HttpResponseInit, InvocationContext } from '@azure/functions';
import { inject } from 'vitest';
import { z } from 'zod';

import { instantFromMilliseconds } from '../../../src/analytics/model/instant.ts';
import { dashboardPage } from '../../../src/dashboard/page-file.ts';
import { analyticsRange } from '../../../src/http/analytics.ts';
import { analyticsAccuracy } from '../../../src/http/analytics-accuracy.ts';
import { analyticsCameras } from '../../../src/http/analytics-cameras.ts';
import { analyticsLastSeen } from '../../../src/http/analytics-last-seen.ts';
import { analyticsSeries } from '../../../src/http/analytics-series.ts';
import { dashboard } from '../../../src/http/dashboard.ts';
import type { notificationAnswer } from '../../../src/http/notification-answer.ts';
import { recordEvents } from '../../../src/http/record-events.ts';
import { conditionalAnswer } from '../../../src/http/route/conditional.ts';
import type { Route } from '../../../src/http/route/route.ts';
import { notifications } from '../../../src/http/send-notification.ts';
import type { CountingProcess } from '../../analytics/counting.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import { ask } from '../../http/asking.ts';
import { NOON } from './activity.ts';

/** A notification as the service answers it. */
export type Told = z.input<typeof notificationAnswer>;

const DAY_SECONDS = 86_400;
const MOST_A_REQUEST = 5_000;

/** Also where a page has been open for hours, no frame is of the future. */
const now = () => instantFromMilliseconds(NOON + DAY_SECONDS * 1_000);

const context = (): InvocationContext => new InvocationContext({ functionName: 'tested', logHandler: () => undefined });

/**
 * The page and the endpoints that it asks, in this process and over real HTTP. What is counted is answered by the service's own
 * endpoints; notifications are those that a test gives it. And it does what the service does not do on demand.
 */
export class PageService {
  /** Where it is given, every endpoint but the page asks for it. */
  key: string | undefined;
  /** The newest first. */
  notifications: readonly Told[] = [];
  /** False: the service was started with `PHONE=off`. */
  hasPhone = true;
  /** What the last check of the telephone provider found. */
  phone: { readonly usable: boolean; readonly since: string; readonly reason: string } = {
    usable: true,
    since: new Date(NOON - 3_600_000).toISOString(),
    reason: '',
  };
  /** Answered to every question about what is counted. */
  broken: HttpResponseInit | undefined;
  /** What stands before the service answers in its place; undefined: it lets the question pass. */
  before: (path: string) => HttpResponseInit | undefined = () => undefined;
  /** The `Date` of the answers; undefined: they have none, because time passes in the page only. */
  date: Date | undefined;
  /** True: it breaks every connection without an answer. It goes on listening, because another process may take a port that is free. */
  isAway = false;
  /** Until it is fulfilled, nothing is answered that is asked now, but the page. */
  held: Promise<void> | undefined;
  /** What the paths begin with of which that is true. */
  heldPaths = '/api/';
  /** How many questions wait for that. */
  waiting = 0;
  /** What was asked of the endpoints: path with query, what was answered, and with how many bytes, head included. */
  readonly asked: {
    readonly path: string;
    readonly status: number;
    readonly key: string | null;
    readonly bytes: number;
  }[] = [];

  readonly #record: Route;
  readonly #routes: ReadonlyMap<string, Route>;
  #server: LoopbackServer | undefined;

  constructor({ recorder, reader }: CountingProcess) {
    this.#record = recordEvents({ recorder, now });
    const analytics = { reader, now, categories: ['fire', 'smoke', 'structure'] };
    const routes = [
      analyticsRange(analytics, DAY_SECONDS),
      analyticsSeries(analytics, DAY_SECONDS),
      analyticsAccuracy(analytics),
      analyticsCameras(analytics),
      analyticsLastSeen(analytics),
      dashboard(dashboardPage(dirname(inject('bundles').release))),
    ];
    this.#routes = new Map(routes.map((each) => [`/api/${each.path}`, each]));
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${this.#server?.port}`;
  }

  /** Serves, on a free port. */
  async start(): Promise<void> {
    this.#server = await LoopbackServer.start((request, response) => void this.#serve(request, response));
  }

  /** Breaks every connection, and listens no more. */
  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** Records messages as a producer's. */
  async record(messages: readonly unknown[]): Promise<void> {
    for (let from = 0; from < messages.length; from += MOST_A_REQUEST) {
      const { status, body } = await ask(this.#record.handler, '/api/events', {
        method: 'POST',
        headers: { 'content-type': 'application/cloudevents-batch+json' },
        body: JSON.stringify(messages.slice(from, from + MOST_A_REQUEST)),
      });
      if (status !== 200) throw new Error(`Recording answered ${status}: ${JSON.stringify(body)}`);
    }
  }

  /** What an endpoint answers now, for whoever holds the page against it: `answer('analytics/cameras?date=2026-11-21')`. */
  async answer(path: string): Promise<unknown> {
    const route = this.#routes.get(new URL(path, 'http://localhost/api/').pathname);
    if (route === undefined) throw new Error(`There is no endpoint for ${path}.`);
    return (await ask(route.handler, `/api/${path}`)).body;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { socket } = incoming;
    if (this.isAway) {
      socket.destroy();
      return;
    }
    const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)] as const);
    const sent = (await Array.fromAsync(incoming, String)).join('');
    const request = new HttpRequest({
      method: incoming.method ?? 'GET',
      url: `${this.url}${incoming.url ?? ''}`,
      headers: Object.fromEntries(headers),
      ...(sent !== '' && { body: { string: sent } }),
    });
    const answer = new HttpResponse(await this.#answer(request));
    const body = Buffer.from(await answer.arrayBuffer());
    const before = socket.bytesWritten;
    outgoing.sendDate = false;
    if (this.date !== undefined) outgoing.setHeader('date', this.date.toUTCString());
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    outgoing.end(body);
    if (request.url.startsWith(`${this.url}/api/dashboard`)) return;
    // Before the page can have the answer: this is the same turn of the event loop.
    this.asked.push({
      path: incoming.url ?? '',
      status: answer.status,
      key: request.headers.get('x-functions-key'),
      bytes: socket.bytesWritten - before,
    });
  }

  async #answer(request: HttpRequest): Promise<HttpResponseInit> {
    const { pathname } = new URL(request.url);
    if (pathname !== '/api/dashboard') {
      if (pathname.startsWith(this.heldPaths)) {
        this.waiting += 1;
        await this.held;
        this.waiting -= 1;
      }
      if (this.key !== undefined && request.headers.get('x-functions-key') !== this.key) return { status: 401 };
      const instead = this.before(request.url.slice(this.url.length));
      if (instead !== undefined) return instead;
      if (pathname.startsWith('/api/notifications')) return this.#answerNotifications(request);
      if (this.broken !== undefined) return this.broken;
    }
    return this.#answerOf(request);
  }

  async #answerOf(request: HttpRequest): Promise<HttpResponseInit> {
    const route = this.#routes.get(new URL(request.url).pathname);
    return route === undefined ? { status: 404 } : answerSchema.parse(await route.handler(request, context()));
  }

  async #answerNotifications(request: HttpRequest): Promise<HttpResponseInit> {
    const { pathname, searchParams: query } = new URL(request.url);
    if (!this.hasPhone) {
      const list = new HttpRequest({ method: 'GET', url: `${this.url}/api/notifications` });
      return answerSchema.parse(await notifications('off').handler(list, context()));
    }
    const [id, action] = pathname.split('/').slice(3).map(decodeURIComponent);
    if (id === undefined) {
      const isAttention = query.get('attention') === 'true';
      const listed = isAttention
        ? this.notifications.filter(needsAttention)
        : this.notifications.slice(0, Number(query.get('limit') ?? 20));
      return conditionalAnswer(
        { jsonBody: { notifications: listed, ...(isAttention && { phone: this.phone }) } },
        request,
      );
    }
    if (action === 'stop' && request.method === 'POST') this.#stop(id);
    if (action === 'acknowledge' && request.method === 'POST') {
      this.#acknowledge(id, z.strictObject({ by: z.string() }).parse(await request.json()).by);
    }
    const found = this.notifications.find((each) => each.notification_id === id);
    return found === undefined ? { status: 404 } : conditionalAnswer({ jsonBody: found }, request);
  }

  /** The person who took it last has it. */
  #acknowledge(id: string, by: string): void {
    const taken = { acknowledged_by: by, acknowledged_at: new Date(NOON).toISOString() };
    this.notifications = this.notifications.map(({ worsened_since_acknowledged: worse, ...each }) => {
      const as = worse === undefined ? each : { ...each, worsened_since_acknowledged: worse };
      return each.notification_id === id ? { ...each, ...taken } : as;
    });
  }

  /** Who waits or rings is stopped; who is being spoken to hears it to the end. */
  #stop(id: string): void {
    this.notifications = this.notifications.map((each) =>
      each.notification_id !== id
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

/** It has reached too few, and was not stopped. */
const needsAttention = ({ status, reached, confirmations_needed: needed = 1 }: Told): boolean =>
  status !== 'stopped' && reached < needed;

/** What a handler gives back; `HttpResponse` takes no other. */
const answerSchema = z.record(z.string(), z.unknown());
