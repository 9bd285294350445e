import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { inspect } from 'node:util';

import { z } from 'zod';

import { within } from '../deadline.ts';
import { listenOn } from '../free-port.ts';
import { type Exchange, readMessage, requestUrl, sendAnswer, sendEmpty } from './http-message.ts';
import { passStream, streamedRequest } from './http-stream.ts';
import { matchRoute, type Route, ROUTE_PREFIX, type RouteMatch, routeTable } from './route-table.ts';
import { timerInput, TimerListener, timerTriggers } from './timers.ts';
import { type RegisteredFunction, Worker } from './worker.ts';

/** The options of the host. */
export interface FunctionsHostOptions {
  /** The CommonJS bundle that registers the functions. */
  readonly bundle: string;
  /** The app's host.json. */
  readonly 'host-json': string;
  /** The port of 127.0.0.1 to listen on; 0 for a free one. */
  readonly port: number;
  /** As in Azure, functions of level `function` need it or the master key, and admin paths need the master key. Undefined: no key is needed. */
  readonly 'function-key'?: string | undefined;
  /** The key that opens every path. */
  readonly 'master-key'?: string | undefined;
  /** True: a timer function runs only when `POST /admin/functions/{name}` starts it. */
  readonly 'no-schedules': boolean;
}

/** As long as the real host's web server, so that no pooled connection is closed under a client. */
const KEEP_ALIVE_MILLISECONDS = 130_000;

/** The longest time of requests and timer functions in flight when the host stops, as in the real host. */
const DRAIN_MILLISECONDS = 30_000;

/** The longest time of the app's terminate hooks. */
const TERMINATE_MILLISECONDS = 5_000;

/**
 * Loads an app's bundle into this process and serves it by the rules of the Azure Functions host. A process can host one app. An unhandled error
 * of the app ends the process, as it ends the worker in Azure.
 *
 * @throws {Error} of the app while it loads, or if the port is in use
 */
export const startFunctionsHost = async (options: FunctionsHostOptions) => {
  const { customHeaders } = await readHostJson(options['host-json']);
  const bundle = resolve(options.bundle);
  const worker = new Worker();
  worker.provideCore();
  createRequire(bundle)(bundle);
  if (worker.functions.length === 0) throw new Error('The app registered no function.');
  const app = {
    worker,
    streamServer: await worker.streamServer(),
    routes: routeTable(worker.functions),
    listeners: timerListeners(worker),
    functionKey: options['function-key'],
    masterKey: options['master-key'],
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
  return {
    /** Without a slash at its end, and without the route prefix. */
    url: `http://127.0.0.1:${port}`,
    stop: async () => stop(server, app),
  };
};

interface App {
  readonly worker: Worker;
  /** Where requests go as streams; undefined: the app gets complete requests. */
  readonly streamServer: string | undefined;
  readonly routes: readonly Route[];
  readonly listeners: readonly TimerListener[];
  readonly functionKey: string | undefined;
  readonly masterKey: string | undefined;
}

/** The parts of host.json that this host follows. The headers are added to answers that lack them. */
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
        await worker.invoke(trigger.registered, timerInput(trigger));
      } catch (error) {
        logFailure(trigger.registered, error);
      }
    };
    return new TimerListener(trigger, run);
  });

const requireKnownTriggers = ({ worker, routes, listeners }: App): void => {
  const served = new Set([...routes, ...listeners.map(({ trigger }) => trigger)].map(({ registered }) => registered));
  const other = worker.functions.find((registered) => !served.has(registered));
  if (other !== undefined) throw new Error(`${other.name}: this host serves HTTP and timer triggers only`);
};

const logFailure = ({ name }: RegisteredFunction, error: unknown): void => {
  process.stderr.write(`${name} failed: ${inspect(error)}\n`);
};

const serve = async (exchange: Exchange, app: App): Promise<void> => {
  const { request, response, url } = exchange;
  const level = levelOf(requestKey(request, url), app);
  const [, timerName] = /^\/admin\/functions\/([^/]+)\/?$/i.exec(url.pathname) ?? [];
  if (timerName !== undefined) {
    const refusal = { anonymous: 401, function: 403, admin: undefined }[level];
    sendEmpty(response, refusal ?? startTimer(request, timerName, app.listeners));
    return;
  }
  const match = matchRoute(app.routes, request.method ?? 'GET', url.pathname);
  if (match === undefined) sendEmpty(response, 404);
  else if (match.route.authLevel === 'function' && level === 'anonymous') sendEmpty(response, 401);
  else await answer(exchange, match, app);
};

/** The level that a key opens. */
const levelOf = (key: string | undefined, { functionKey, masterKey }: App): 'anonymous' | 'function' | 'admin' => {
  if (functionKey === undefined || (key !== undefined && key === masterKey)) return 'admin';
  return key === functionKey ? 'function' : 'anonymous';
};

/** The key of a request: the first in its header, otherwise the first `code` in its query. */
const requestKey = ({ headersDistinct }: IncomingMessage, url: URL): string | undefined =>
  headersDistinct['x-functions-key']?.[0] ?? [...url.searchParams].find(([name]) => name.toLowerCase() === 'code')?.[1];

/** Starts a timer function, and answers 202 at once, for any body. @param name in any case */
const startTimer = ({ method }: IncomingMessage, name: string, listeners: readonly TimerListener[]): number => {
  const listener = listeners.find(({ trigger }) => trigger.registered.name.toLowerCase() === name.toLowerCase());
  if (method !== 'POST' || listener === undefined) return 404;
  void listener.runNow();
  return 202;
};

/** Version 00 of W3C Trace Context. */
const TRACE_PARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const answer = async (
  exchange: Exchange,
  { route, params }: RouteMatch,
  { worker, streamServer }: App,
): Promise<void> => {
  const { request, response } = exchange;
  try {
    const traceParent = TRACE_PARENT.exec(exchange.request.headers['traceparent']?.toString() ?? '')?.[0];
    if (streamServer !== undefined) {
      const streamed = streamedRequest(exchange, params, randomUUID());
      const work = worker.invoke(route.registered, { name: route.bindingName }, traceParent, streamed);
      await Promise.all([passStream(exchange, streamed, streamServer), work]);
      return;
    }
    const http = await readMessage(exchange, params);
    const given = await worker.invoke(route.registered, { name: route.bindingName, data: { http } }, traceParent);
    if (given === undefined) sendEmpty(response, 204);
    else sendAnswer(response, given);
  } catch (error) {
    // The client has left in the middle of its body.
    if (request.errored !== null) return void response.destroy();
    logFailure(route.registered, error);
    sendEmpty(response, 500);
  }
};

/** Refuses new connections, stops the schedules, finishes requests and timer functions in flight, runs the app's terminate hooks. */
const stop = async (server: Server, { worker, listeners }: App): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((done) => server.close(() => done()));
  await within(DRAIN_MILLISECONDS, Promise.all([closed, ...listeners.map((listener) => listener.stop())]));
  server.closeAllConnections();
  await within(TERMINATE_MILLISECONDS, worker.terminate());
};
