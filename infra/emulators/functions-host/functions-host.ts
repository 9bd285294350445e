import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { inspect } from 'node:util';

import { z } from 'zod';

import { within } from '../deadline.ts';
import { listenOn } from '../free-port.ts';
import {
  announcedBytes,
  type Exchange,
  readMessage,
  refusalOf,
  requestUrl,
  sendAnswer,
  sendEmpty,
  SERVER_OPTIONS,
} from './http-message.ts';
import { matchRoute, type Route, ROUTE_PREFIX, type RouteMatch, routeTable } from './route-table.ts';
import { timerInput, TimerListener, timerTriggers } from './timers.ts';
import { type RegisteredFunction, Worker } from './worker.ts';

/** What to serve, and where. */
export interface FunctionsHostOptions {
  /** The CommonJS bundle that registers the functions. */
  readonly bundle: string;
  /** The app's host.json. */
  readonly 'host-json': string;
  /** The port of 127.0.0.1 to listen on; 0 for a free one. */
  readonly port: number;
  /** Where it is given, functions of level `function` need it or the master key, and admin paths the master key, as in Azure. Locally nobody needs a key. */
  readonly 'function-key'?: string | undefined;
  /** Opens everything; without it, and with a function key, nobody has one. */
  readonly 'master-key'?: string | undefined;
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
  await worker.finishLoading();
  const app = {
    worker,
    routes: routeTable(worker.functions),
    listeners: timerListeners(worker),
    functionKey: options['function-key'],
    masterKey: options['master-key'],
    maxBodyBytes: Number(process.env['FUNCTIONS_REQUEST_BODY_SIZE_LIMIT'] ?? MAX_BODY_BYTES),
  };
  requireKnownTriggers(app);

  const server = createServer({ ...SERVER_OPTIONS, keepAliveTimeout: KEEP_ALIVE_MILLISECONDS });
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    for (const [name, value] of Object.entries(customHeaders)) response.setHeader(name, value);
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections();
    });
    const url = requestUrl(request);
    const refusal = refusalOf(request);
    if (url === undefined || refusal !== undefined) sendEmpty(response, refusal ?? 400);
    else void serve({ request, response, url }, app);
  };
  // A strange `Expect` is no reason to refuse a request.
  server.on('request', onRequest).on('checkExpectation', onRequest);
  const port = await listenOn(server, options.port);
  if (!options['no-schedules']) for (const listener of app.listeners) listener.start();
  return { url: `http://127.0.0.1:${port}`, stop: async () => stop(server, app) };
};

interface App {
  readonly worker: Worker;
  readonly routes: readonly Route[];
  readonly listeners: readonly TimerListener[];
  readonly functionKey: string | undefined;
  readonly masterKey: string | undefined;
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
  // Not 413: the real host fails while it reads the body (azure-functions-host, issue 10519).
  else if (announcedBytes(request) > app.maxBodyBytes) sendEmpty(response, 500);
  else await answer(exchange, match, app.worker);
};

/** What a key allows. Where no keys are asked for, everything. */
const levelOf = (key: string | undefined, { functionKey, masterKey }: App): 'anonymous' | 'function' | 'admin' => {
  if (functionKey === undefined || (key !== undefined && key === masterKey)) return 'admin';
  return key === functionKey ? 'function' : 'anonymous';
};

/** The key that a request carries: the first of its header, else the first `code` of its query. */
const requestKey = ({ headersDistinct }: IncomingMessage, url: URL): string | undefined =>
  headersDistinct['x-functions-key']?.[0] ?? [...url.searchParams].find(([name]) => name.toLowerCase() === 'code')?.[1];

/**
 * Starts a timer function, as the real host does for `POST /admin/functions/{name}`: 202 at once, whatever becomes of the run and whatever the body says; 404
 * for an unknown name.
 *
 * @param name in any case
 * @returns the answer's status
 */
const startTimer = ({ method }: IncomingMessage, name: string, listeners: readonly TimerListener[]): number => {
  const listener = listeners.find(({ trigger }) => trigger.registered.name.toLowerCase() === name.toLowerCase());
  if (method !== 'POST' || listener === undefined) return 404;
  void listener.runNow();
  return 202;
};

/** Version 00 of W3C Trace Context. */
const TRACE_PARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const answer = async (exchange: Exchange, { route, params }: RouteMatch, worker: Worker): Promise<void> => {
  const { request, response } = exchange;
  try {
    const http = await readMessage(exchange, params);
    const traceParent = TRACE_PARENT.exec(exchange.request.headers['traceparent']?.toString() ?? '')?.[0];
    const given = await worker.invoke(route.registered, { name: route.bindingName, data: { http } }, traceParent);
    if (given === undefined) sendEmpty(response, 204);
    else sendAnswer(response, given);
  } catch (error) {
    // The client has left in the middle of its body: nobody is answered, and nobody has to be told.
    if (request.errored !== null) return void response.destroy();
    logFailure(route.registered, error);
    sendEmpty(response, 500);
  }
};

const stop = async (server: Server, { worker, listeners }: App): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((done) => server.close(() => done()));
  await within(DRAIN_MILLISECONDS, Promise.all([closed, ...listeners.map((listener) => listener.stop())]));
  server.closeAllConnections();
  await within(TERMINATE_MILLISECONDS, worker.terminate());
};
