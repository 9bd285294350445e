import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { inject } from 'vitest';

import { onFreePort } from '../../infra/emulators/free-port.ts';
import { ServiceProcess } from '../../infra/emulators/service-process.ts';

const HOST_JSON = fileURLToPath(new URL('../../host.json', import.meta.url));

type Environment = Readonly<Record<string, string>>;

/** Which app to start, and how. */
export interface AppOptions {
  /** The app's whole environment. */
  readonly environment: Environment;
  /** One of this run's bundles (default `debug`), or the path of another bundle. */
  readonly bundle?: 'debug' | 'release' | { readonly path: string };
  /** Default: the repository's host.json. */
  readonly hostJson?: string;
  /** The host demands this key as Azure does. */
  readonly functionKey?: string;
  /** With a function key: opens everything. */
  readonly masterKey?: string;
  /** Default: true. False: timer functions run only when `POST /admin/functions/{name}` starts them. */
  readonly runsSchedules?: boolean;
  /** The working directory. Default: the repository. */
  readonly cwd?: string;
}

/** A running app in its own process. `stop` ends it gracefully. */
export interface App extends Pick<ServiceProcess, 'pid' | 'exited'> {
  /** Without a slash at its end: `${app.url}/api/health`. */
  readonly url: string;
  stop(): Promise<void>;
  /** All lines that the app has printed so far. */
  output(): string;
}

/**
 * Starts a bundle under the local functions host in its own process, on a free port, and waits until it serves.
 *
 * @throws {Error} with the app's output where it ends instead
 * @example const app = await startApp({ environment: testEnvironment() });
 */
export const startApp = async (options: AppOptions): Promise<App> =>
  onFreePort(async (port) => {
    const { environment, bundle = 'debug', hostJson = HOST_JSON, runsSchedules = true, cwd } = options;
    const { functionKey, masterKey } = options;
    const lines: string[] = [];
    const log = join(inject('appLogs'), `${port}-${randomBytes(4).toString('hex')}.log`);
    const service = await ServiceProcess.start({
      name: 'The app',
      args: [
        inject('commands').host,
        `--bundle=${typeof bundle === 'string' ? inject('bundles')[bundle] : bundle.path}`,
        `--host-json=${hostJson}`,
        `--port=${port}`,
        ...(functionKey === undefined ? [] : [`--function-key=${functionKey}`]),
        ...(masterKey === undefined ? [] : [`--master-key=${masterKey}`]),
        ...(runsSchedules ? [] : ['--no-schedules']),
      ],
      // A start takes a sixth less processor time.
      environment: { NODE_COMPILE_CACHE: inject('compileCache'), ...environment },
      ...(cwd !== undefined && { cwd }),
      ready: /^Functions host ready/,
      onLine: (text) => {
        lines.push(text);
        // Read when the run is over, see app-logs.ts.
        appendFileSync(log, `${text}\n`);
      },
    });
    const { pid, exited } = service;
    return {
      url: `http://127.0.0.1:${port}`,
      pid,
      exited,
      stop: async () => service.stop(),
      output: () => lines.join('\n'),
    };
  });

/** A TABLES_PREFIX that no other test has. */
export const ownTablesPrefix = (): string => `t${randomBytes(8).toString('hex')}`;

/**
 * Every required setting: this run's Azurite with tables that no other environment has, and an ACS address that does not answer. `overrides` win.
 */
export const testEnvironment = (overrides: Environment = {}): Environment => ({
  SERVICE_NAME: 'Test Watch',
  TABLES_CONNECTION_STRING: inject('tablesConnectionString'),
  TABLES_PREFIX: ownTablesPrefix(),
  // Port 9 is the discard service's: nothing answers there.
  ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
  CALLBACK_BASE_URL: 'http://127.0.0.1:9',
  ...overrides,
});
