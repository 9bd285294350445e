import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { inspect } from 'node:util';

import { within } from './deadline.ts';
import { adminFunctionName, startFunction } from './functions-host/admin-endpoint.ts';
import { type Datum, provideFunctionsCore } from './functions-host/functions-core.ts';
import { readHostJson } from './functions-host/host-json.ts';
import { type Exchange, forward } from './functions-host/forwarding.ts';
import { announcedBytes, requestKey, requestUrl, sendEmpty } from './functions-host/http-message.ts';
import { invoke } from './functions-host/invocation.ts';
import { type RegisteredFunction, Registry } from './functions-host/registry.ts';
import { matchRoute, type Route, type RouteMatch, routeTable } from './functions-host/route-table.ts';
import { TimerListener } from './functions-host/timer-listener.ts';
import { timerTriggers } from './functions-host/timer-trigger.ts';

/** What to serve, and where. */
export interface FunctionsHostOptions {
  /** The CommonJS bundle that registers the functions. */
  readonly bundle: string;
  /** The app's host.json. */
  readonly hostJson: string;
  /** The port of 127.0.0.1 to listen on; 0 for a free one. */
  readonly port: number;
  /** Where it is given, functions of level `function` need it, as in Azure; locally nobody needs a key. */
  readonly functionKey?: string;
  /** Likewise for the admin paths; it opens every function as well. */
  readonly masterKey?: string;
  /**
   * False where no timer function runs on its schedule or on start-up, so that a test decides when it runs;
   * `POST /admin/functions/{name}` still starts it. True where it is not given.
   */
  readonly runsSchedules?: boolean;
}

/** An app that is loaded and served. */
export interface FunctionsHost {
  /** Without a slash at its end and without the route prefix. */
  readonly url: string;
  readonly routes: readonly Route[];
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
  const hostJson = await readHostJson(options.hostJson);
  const { registry, libraryServer } = await loadApp(resolve(options.bundle));
  const app = {
    registry,
    libraryServer,
    routes: routeTable(registry.functions, hostJson.routePrefix),
    listeners: timerListeners(registry),
    keys: { function: options.functionKey, master: options.masterKey },
    maxBodyBytes: Number(process.env['FUNCTIONS_REQUEST_BODY_SIZE_LIMIT'] ?? MAX_BODY_BYTES),
  };
  requireKnownTriggers(app);

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MILLISECONDS }, (request, response) => {
    for (const [name, value] of Object.entries(hostJson.customHeaders)) response.setHeader(name, value);
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections();
    });
    const url = requestUrl(request);
    if (url === undefined) sendEmpty(response, 400);
    else void serve({ request, response, url }, app);
  });
  const port = await listen(server, options.port);
  if (options.runsSchedules ?? true) for (const listener of app.listeners) listener.start();
  return { url: `http://127.0.0.1:${port}`, routes: app.routes, stop: async () => stop(server, app) };
};

const loadApp = async (
  bundle: string,
): Promise<{ readonly registry: Registry; readonly libraryServer: string | undefined }> => {
  const registry = new Registry();
  provideFunctionsCore(registry.core());
  createRequire(bundle)(bundle);
  const { HttpUri: libraryServer } = await registry.programmingModel.getCapabilities({});
  await registry.runHooks('appStart', { hookData: {}, functionAppDirectory: dirname(bundle) });
  registry.finishLoading();
  return { registry, libraryServer };
};

const timerListeners = (registry: Registry): readonly TimerListener[] =>
  timerTriggers(registry.functions, process.env).map((trigger) => {
    const { registered, bindingName: name } = trigger;
    return new TimerListener(trigger, async (info) => {
      try {
        await invoke(registry, registered, { name, data: { json: JSON.stringify(info) } }, randomUUID());
      } catch (error) {
        logFailure(registered, error);
      }
    });
  });

const requireKnownTriggers = ({ registry, routes, listeners, libraryServer }: App): void => {
  if (routes.length > 0 && libraryServer === undefined) {
    throw new Error('This host serves apps that stream HTTP: app.setup({ enableHttpStream: true })');
  }
  const served = new Set([...routes, ...listeners.map(({ trigger }) => trigger)].map(({ registered }) => registered));
  const other = registry.functions.find((registered) => !served.has(registered));
  if (other !== undefined) throw new Error(`${other.metadata.name}: this host serves HTTP and timer triggers only`);
};

const logFailure = ({ metadata }: RegisteredFunction, error: unknown): void => {
  process.stderr.write(`${metadata.name} failed: ${inspect(error)}\n`);
};

const listen = async (server: Server, port: number): Promise<number> =>
  new Promise((fulfil, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The server has no TCP port.'));
      else fulfil(address.port);
    });
  });

interface App {
  readonly registry: Registry;
  readonly routes: readonly Route[];
  readonly listeners: readonly TimerListener[];
  /** Where the library takes HTTP requests; undefined for an app that has none. */
  readonly libraryServer: string | undefined;
  readonly keys: Keys;
  readonly maxBodyBytes: number;
}

/** Undefined where nobody needs the key. */
interface Keys {
  readonly function: string | undefined;
  readonly master: string | undefined;
}

const serve = async (exchange: Exchange, app: App): Promise<void> => {
  const { request, response, url } = exchange;
  const key = requestKey(request, url);
  const functionName = adminFunctionName(url.pathname);
  if (functionName !== undefined) {
    const refused = adminRefusal(key, app.keys);
    sendEmpty(response, refused ?? (await startFunction(request, functionName, app.listeners)));
    return;
  }
  const match = matchRoute(app.routes, request.method ?? 'GET', url.pathname);
  if (match === undefined) sendEmpty(response, 404);
  else if (!mayCall(match.route, key, app.keys)) sendEmpty(response, 401);
  else if (announcedBytes(request) > app.maxBodyBytes) sendEmpty(response, 413);
  else await answer(exchange, match, app);
};

const answer = async (exchange: Exchange, match: RouteMatch, { registry, libraryServer = '' }: App): Promise<void> => {
  const { registered, bindingName: name } = match.route;
  const invocationId = randomUUID();
  try {
    forward(libraryServer, exchange, invocationId);
    const returned = await invoke(
      registry,
      registered,
      { name, metadata: triggerMetadata(exchange, match) },
      invocationId,
    );
    // Then the library sends nothing.
    if (returned === null || returned === undefined) sendEmpty(exchange.response, 204);
  } catch (error) {
    logFailure(registered, error);
    sendEmpty(exchange.response, 500);
  }
};

/** What the worker is told of a request besides the request itself: header names in lower case, repeated headers joined by commas. */
const triggerMetadata = ({ request }: Exchange, { params }: RouteMatch): Readonly<Record<string, Datum>> => ({
  ...Object.fromEntries(Object.entries(params).map(([name, value]) => [name, { string: value }])),
  Headers: {
    json: JSON.stringify(
      Object.fromEntries(
        Object.entries(request.headersDistinct).map(([name, values = []]) => [name, values.join(',')]),
      ),
    ),
  },
});

const mayCall = ({ authLevel }: Route, given: string | undefined, keys: Keys): boolean =>
  authLevel === 'anonymous' ||
  (keys.function === undefined && keys.master === undefined) ||
  (given !== undefined && (given === keys.master || (authLevel === 'function' && given === keys.function)));

/** Admin paths want the master key; a function key is known, and not enough. */
const adminRefusal = (given: string | undefined, keys: Keys): 401 | 403 | undefined => {
  if ((keys.function === undefined && keys.master === undefined) || (given !== undefined && given === keys.master)) {
    return undefined;
  }
  return given !== undefined && given === keys.function ? 403 : 401;
};

const stop = async (server: Server, { registry, listeners }: App): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((done) => server.close(() => done()));
  await within(DRAIN_MILLISECONDS, Promise.all([closed, ...listeners.map((listener) => listener.stop())]));
  server.closeAllConnections();
  await within(TERMINATE_MILLISECONDS, registry.runHooks('appTerminate'));
};
