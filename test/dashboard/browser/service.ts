import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';

import { HttpRequest, HttpResponse, InvocationContext } from '@azure/functions';
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
import { recordEvents } from '../../../src/http/record-events.ts';
import type { Route } from '../../../src/http/route/route.ts';
import type { CountingProcess } from '../../analytics/counting.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import { ask } from '../../http/asking.ts';
import { NOON, PageAnswers } from '../answers.ts';

const DAY_SECONDS = 86_400;

/** A page may be open for hours: no frame is in the future. */
const now = () => instantFromMilliseconds(NOON + DAY_SECONDS * 1_000);

const answered = z.record(z.string(), z.unknown());

/** The page over HTTP, in this process. The service's own endpoints answer about counts; notifications are a test's. */
export class PageService extends PageAnswers {
  /** True: counts are invented too. */
  isInvented = false;
  /** The bytes of all answers but the page, heads included. */
  bytes = 0;
  readonly #record: Route;
  readonly #routes: ReadonlyMap<string, Route>;
  #server: LoopbackServer | undefined;

  constructor({ recorder, reader }: CountingProcess) {
    super();
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

  async start(): Promise<void> {
    this.#server = await LoopbackServer.start((request, response) => void this.#serve(request, response));
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async record(messages: readonly unknown[]): Promise<void> {
    const { status, body } = await ask(this.#record.handler, '/api/events', {
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents-batch+json' },
      body: JSON.stringify(messages),
    });
    if (status !== 200) throw new Error(`Recording answered ${status}: ${JSON.stringify(body)}`);
  }

  /** An endpoint's answer: `answer('analytics/cameras?date=2026-11-21')`. */
  async answer(path: string): Promise<unknown> {
    return (await fetch(`${this.url}/api/${path}`)).json();
  }

  protected override async answered(url: string, method: string, body: string, headers: Headers): Promise<Response> {
    const route = this.isInvented ? undefined : this.#routes.get(new URL(url, this.url).pathname);
    return route === undefined ? super.answered(url, method, body, headers) : this.#handled(route, url, headers);
  }

  async #handled(route: Route, url: string, headers: Headers): Promise<Response> {
    const request = new HttpRequest({ method: 'GET', url: `${this.url}${url}`, headers: Object.fromEntries(headers) });
    const context = new InvocationContext({ functionName: 'tested', logHandler: () => undefined });
    const response = new HttpResponse(answered.parse(await route.handler(request, context)));
    const { status } = response;
    return new Response(status === 304 ? null : await response.arrayBuffer(), {
      status,
      headers: [...response.headers],
    });
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { url = '', method = 'GET', socket } = incoming;
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const body = (await Array.fromAsync(incoming, String)).join('');
    const page = url.startsWith('/api/dashboard') ? this.#routes.get('/api/dashboard') : undefined;
    try {
      const response =
        page === undefined
          ? await this.fetch(url, { method, headers, body })
          : await this.#handled(page, url, new Headers(headers));
      const bytes = Buffer.from(await response.arrayBuffer());
      const before = socket.bytesWritten;
      // Time passes in the page only.
      outgoing.sendDate = false;
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(bytes);
      // The page cannot have the answer yet: this is the same turn of the event loop.
      if (page === undefined) this.bytes += socket.bytesWritten - before;
    } catch (error) {
      socket.destroy();
      if (!(error instanceof TypeError)) throw error;
    }
  }
}
