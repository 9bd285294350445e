import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';

import { z } from 'zod';

import { within } from '../deadline.ts';
import { listenOn } from '../free-port.ts';
import { announcedBytes, type Exchange, forward, requestUrl, sendEmpty } from './forwarding.ts';
import { matchRoute, type Route, ROUTE_PREFIX, type RouteMatch, routeTable } from './route-table.ts';
import { timerInput, TimerListener, timerTriggers } from './timers.ts';
import { type Datum, type RegisteredFunction, Worker } from './worker.ts';

/** What to serve, and where. */
export interface FunctionsHostOptions {
  /** The CommonJS bundle that registers the functions. */
  readonly bundle: string;
  /** The app's host.json. */
  readonly 'host-json': string;
  /** The port of 127.0.0.1 to listen on; 0 for a free one. */
  readonly port: number;
  /**
   * Where it is given, functions of level `function` need it, as in Azure, and the admin paths are closed, because they need the master
   * key, which nobody has here. Locally nobody needs a key.
   */
  readonly 'function-key'?: string | undefined;
  /** True where no timer function runs on its schedule, so that a test decides when it runs: `POST /admin/functions/{name}` still starts it. */
  readonly 'no-schedules': boolean;
}

/** An app that is loaded and served. */
export interface FunctionsHost {
  /** Without a slash at its end and without the route prefix. */
  readonly url: string;
  /** Refuses new connections, stops the schedules, finishes what is in flight, runs the app's terminate hooks. */
  stop(): Promise<void>;
}

/** As long as the real host's web server does, so that a client's pooled connection is not closed under it. */
const KEEP_ALIVE_MILLISECONDS = 130_000;

/** Most that requests and timer functions in flight may take when the host stops; the real host's time. */
const DRAIN_MILLISECONDS = 30_000;

/** Most that the app's terminate hooks may take. */
const TERMINATE_MILLISECONDS = 5_000;

/** The most that a request may announce for its body, in bytes, unless the app's setting `FUNCTIONS_REQUEST_BODY_SIZE_LIMIT` says otherwise. */
const MAX_BODY_BYTES = 100 * 1024 * 1024;

/**
 * Loads an app's bundle into this process and serves it by the rules of the Azure Functions host. One process can
 * host one app. What the app leaves unhandled ends the process, as it ends the worker in Azure.
 *
 * @throws whatever the app throws while it loads, and where the port is in use
 */
export const startFunctionsHost = async (options: FunctionsHostOptions): Promise<FunctionsHost> => {
  const { customHeaders } = await readHostJson(options['host-json']);
  const bundle = resolve(options.bundle);
  const worker = new Worker();
  worker.provideCore();
  createRequire(bundle)(bundle);
  const libraryServer = await worker.finishLoading();
  const app = {
    worker,
    libraryServer,
    routes: routeTable(worker.functions),
    listeners: timerListeners(worker),
    functionKey: options['function-key'],
    maxBodyBytes: Number(process.env['FUNCTIONS_REQUEST_BODY_SIZE_LIMIT'] ?? MAX_BODY_BYTES),
  };
  requireKnownTriggers(app);

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MILLISECONDS }, (request, response) => {
    for (const [name, value] of Object.entries(customHeaders)) response.setHeader(name, value);
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections();
    });
    const url = requestUrl(request);
    if (url === undefined) sendEmpty(response, 400);
    else void serve({ request, response, url }, app);
  });
  const port = await listenOn(server, options.port);
  if (!options['no-schedules']) for (const listener of app.listeners) listener.start();
  return { url: `http://127.0.0.1:${port}`, stop: async () => stop(server, app) };
};

interface App {
  readonly worker: Worker;
  readonly routes: readonly Route[];
  readonly listeners: readonly TimerListener[];
  /** Where the library takes HTTP requests; undefined for an app that has none. */
  readonly libraryServer: string | undefined;
  readonly functionKey: string | undefined;
  readonly maxBodyBytes: number;
}

/** The parts of host.json that this host follows; the others are about Azure. The headers are added to answers that lack them. */
const hostJsonSchema = z.object({
  version: z.literal('2.0'),
  extensions: z
    .object({
      http: z
        .object({
          routePrefix: z.literal(ROUTE_PREFIX).optional(),
          customHeaders: z.record(z.string(), z.string()).default({}),
        })
        .prefault({}),
    })
    .prefault({}),
});

const readHostJson = async (path: string) => {
  try {
    return hostJsonSchema.parse(JSON.parse(await readFile(path, 'utf8'))).extensions.http;
  } catch (error) {
    throw new Error(`${path} cannot be used as host.json`, { cause: error });
  }
};

const timerListeners = (worker: Worker): readonly TimerListener[] =>
  timerTriggers(worker.functions).map((trigger) => {
    const run = async (): Promise<void> => {
      try {
        await worker.invoke(trigger.registered, timerInput(trigger), randomUUID());
      } catch (error) {
        logFailure(trigger.registered, error);
      }
    };
    return new TimerListener(trigger, run);
  });

const requireKnownTriggers = ({ worker, routes, listeners, libraryServer }: App): void => {
  if (routes.length > 0 && libraryServer === undefined) {
    throw new Error('This host serves apps that stream HTTP: app.setup({ enableHttpStream: true })');
  }
  const served = new Set([...routes, ...listeners.map(({ trigger }) => trigger)].map(({ registered }) => registered));
  const other = worker.functions.find((registered) => !served.has(registered));
  if (other !== undefined) throw new Error(`${other.name}: this host serves HTTP and timer triggers only`);
};

const logFailure = ({ name }: RegisteredFunction, error: unknown): void => {
  process.stderr.write(`${name} failed: ${inspect(error)}\n`);
};

const serve = async (exchange: Exchange, app: App): Promise<void> => {
  const { request, response, url } = exchange;
  const key = requestKey(request, url);
  const isKeyed = app.functionKey === undefined || key === app.functionKey;
  const [, timerName] = /^\/admin\/functions\/([^/]+)\/?$/i.exec(url.pathname) ?? [];
  if (timerName !== undefined) {
    const isClosed = app.functionKey !== undefined;
    sendEmpty(response, isClosed ? (isKeyed ? 403 : 401) : await startTimer(request, timerName, app.listeners));
    return;
  }
  const match = matchRoute(app.routes, request.method ?? 'GET', url.pathname);
  if (match === undefined) sendEmpty(response, 404);
  else if (match.route.authLevel === 'function' && !isKeyed) sendEmpty(response, 401);
  else if (announcedBytes(request) > app.maxBodyBytes) sendEmpty(response, 413);
  else await answer(exchange, match, app);
};

/** The key that a request carries: the header's, else the first `code` of its query. */
const requestKey = ({ headers }: IncomingMessage, url: URL): string | undefined => {
  const header = headers['x-functions-key'];
  if (typeof header === 'string') return header;
  return [...url.searchParams].find(([name]) => name.toLowerCase() === 'code')?.[1];
};

/**
 * Starts a timer function, as the real host does for `POST /admin/functions/{name}`: 202 at once, whatever becomes of the run; 404 for an unknown
 * name.
 *
 * @param name in any case
 * @returns the answer's status
 */
const startTimer = async (
  request: IncomingMessage,
  name: string,
  listeners: readonly TimerListener[],
): Promise<number> => {
  const listener = listeners.find(({ trigger }) => trigger.registered.name.toLowerCase() === name.toLowerCase());
  if (request.method !== 'POST' || listener === undefined) return 404;
  // What it says is not looked at. A client that leaves gets no answer.
  await text(request).catch(() => '');
  void listener.runNow();
  return 202;
};

const answer = async (exchange: Exchange, match: RouteMatch, { worker, libraryServer = '' }: App): Promise<void> => {
  const { registered, bindingName: name } = match.route;
  const invocationId = randomUUID();
  try {
    forward(libraryServer, exchange, invocationId);
    const input = { name, metadata: triggerMetadata(exchange.request, match) };
    const returned = await worker.invoke(registered, input, invocationId);
    // Then the library sends nothing.
    if (returned === null || returned === undefined) sendEmpty(exchange.response, 204);
  } catch (error) {
    logFailure(registered, error);
    sendEmpty(exchange.response, 500);
  }
};

/** What the worker is told of a request besides the request itself: header names in lower case, repeated headers joined by commas. */
const triggerMetadata = (
  { headersDistinct }: IncomingMessage,
  { params }: RouteMatch,
): Readonly<Record<string, Datum>> => {
  const headers = Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(',')]);
  return {
    ...Object.fromEntries(Object.entries(params).map(([name, value]) => [name, { string: value }])),
    Headers: { json: JSON.stringify(Object.fromEntries(headers)) },
  };
};

const stop = async (server: Server, { worker, listeners }: App): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((done) => server.close(() => done()));
  await within(DRAIN_MILLISECONDS, Promise.all([closed, ...listeners.map((listener) => listener.stop())]));
  server.closeAllConnections();
  await within(TERMINATE_MILLISECONDS, worker.terminate());
};
