import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { inspect } from 'node:util';

import { within } from './deadline.ts';
import { adminFunctionName, startFunction } from './functions-host/admin-endpoint.ts';
import { provideFunctionsCore } from './functions-host/functions-core.ts';
import { readHostJson } from './functions-host/host-json.ts';
import {
  type Answer,
  emptyAnswer,
  readBody,
  requestKey,
  requestUrl,
  send,
  toAnswer,
  toRequestData,
} from './functions-host/http-message.ts';
import { invoke } from './functions-host/invocation.ts';
import { type RegisteredFunction, Registry } from './functions-host/registry.ts';
import { matchRoute, type Route, routeTable } from './functions-host/route-table.ts';
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

/** Most that requests and timer functions in flight may take when the host stops. */
const DRAIN_MILLISECONDS = 10_000;

/** Most that the app's terminate hooks may take. */
const TERMINATE_MILLISECONDS = 5_000;

/**
 * Loads an app's bundle into this process and serves it by the rules of the Azure Functions host. One process can
 * host one app. What the app leaves unhandled ends the process, as it ends the worker in Azure.
 *
 * @throws whatever the app throws while it loads, and where the port is in use
 */
export const startFunctionsHost = async (options: FunctionsHostOptions): Promise<FunctionsHost> => {
  const hostJson = await readHostJson(options.hostJson);
  const registry = await loadApp(resolve(options.bundle));
  const app = {
    registry,
    routes: routeTable(registry.functions, hostJson.routePrefix),
    listeners: timerListeners(registry),
    functionKey: options.functionKey,
  };
  requireKnownTriggers(app);

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MILLISECONDS }, (request, response) => {
    void serve(request, response);
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await answerTo(request, app);
    if (!server.listening) response.setHeader('connection', 'close');
    send(response, answer, hostJson.customHeaders);
  };
  const port = await listen(server, options.port);
  if (options.runsSchedules ?? true) for (const listener of app.listeners) listener.start();
  return { url: `http://127.0.0.1:${port}`, routes: app.routes, stop: async () => stop(server, app) };
};

const loadApp = async (bundle: string): Promise<Registry> => {
  const registry = new Registry();
  provideFunctionsCore(registry.core());
  createRequire(bundle)(bundle);
  const capabilities = await registry.programmingModel.getCapabilities({});
  if (capabilities['HttpUri'] !== undefined) throw new Error('This host does not stream HTTP.');
  await registry.runHooks('appStart', { hookData: {}, functionAppDirectory: dirname(bundle) });
  registry.finishLoading();
  return registry;
};

const timerListeners = (registry: Registry): readonly TimerListener[] =>
  timerTriggers(registry.functions, process.env).map((trigger) => {
    const { registered, bindingName: name } = trigger;
    return new TimerListener(trigger, async (info) => {
      try {
        await invoke(registry, registered, { name, data: { json: JSON.stringify(info) } });
      } catch (error) {
        logFailure(registered, error);
      }
    });
  });

const requireKnownTriggers = ({ registry, routes, listeners }: App): void => {
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
  readonly functionKey: string | undefined;
}

const answerTo = async (request: IncomingMessage, app: App): Promise<Answer> => {
  const url = requestUrl(request);
  if (url === undefined) return emptyAnswer(400);
  const functionName = adminFunctionName(url.pathname);
  if (functionName !== undefined) {
    // The real host wants its master key here, and there is none.
    return app.functionKey === undefined ? startFunction(request, functionName, app.listeners) : emptyAnswer(401);
  }
  const match = matchRoute(app.routes, request.method ?? 'GET', url.pathname);
  if (match === undefined) return emptyAnswer(404);
  if (!mayCall(match.route, requestKey(request, url), app.functionKey)) return emptyAnswer(401);
  const { registered, bindingName: name } = match.route;
  try {
    const body = await readBody(request);
    if (body === 'too large') return emptyAnswer(413);
    return toAnswer(
      await invoke(app.registry, registered, { name, data: { http: toRequestData(request, url, match, body) } }),
    );
  } catch (error) {
    logFailure(registered, error);
    return emptyAnswer(500);
  }
};

const mayCall = (route: Route, given: string | undefined, functionKey: string | undefined): boolean =>
  functionKey === undefined ||
  route.authLevel === 'anonymous' ||
  (route.authLevel === 'function' && given === functionKey);

const stop = async (server: Server, { registry, listeners }: App): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((done) => server.close(() => done()));
  await within(DRAIN_MILLISECONDS, Promise.all([closed, ...listeners.map((listener) => listener.stop())]));
  server.closeAllConnections();
  await within(TERMINATE_MILLISECONDS, registry.runHooks('appTerminate'));
};
