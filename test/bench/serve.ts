import { fileURLToPath } from 'node:url';

import { freePort } from '../../infra/local/free-port.ts';
import { type ServiceLine, ServiceProcess } from '../../infra/local/service-process.ts';

const HOST = fileURLToPath(new URL('../../infra/local/functions-host/main.ts', import.meta.url));
const HOST_JSON = fileURLToPath(new URL('../../host.json', import.meta.url));

/** Another process may take the free port before the app does. */
const ATTEMPTS = 3;

type Environment = Readonly<Record<string, string>>;

/** A bundle that is served in a process of its own. */
export interface Served {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
  /** Ends it at once, whatever it is doing, and waits until it has ended. */
  kill(): Promise<void>;
}

/** How a bundle is served. */
export interface ServeOptions {
  /** Default: true. False: no timer function runs, so that all that the app does is what it is asked to do. */
  readonly runsSchedules?: boolean;
  /** Gets every line that the app prints. */
  readonly onLine?: (line: ServiceLine) => void;
}

/** Serves a bundle on a free port; `environment` is added to what every start needs. */
export const serve = async (bundle: string, environment: Environment, options: ServeOptions = {}): Promise<Served> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await serveOn(await freePort(), bundle, environment, options);
    } catch (error) {
      const portWasTaken = error instanceof Error && error.message.includes('EADDRINUSE');
      if (!portWasTaken || attempt === ATTEMPTS) throw error;
    }
  }
};

const serveOn = async (
  port: number,
  bundle: string,
  environment: Environment,
  { runsSchedules = true, onLine }: ServeOptions,
): Promise<Served> => {
  const url = `http://127.0.0.1:${port}`;
  const service = await ServiceProcess.start({
    name: 'The app',
    args: [
      `--import=${import.meta.resolve('tsx')}`,
      HOST,
      `--bundle=${bundle}`,
      `--host-json=${HOST_JSON}`,
      `--port=${port}`,
      ...(runsSchedules ? [] : ['--no-schedules']),
    ],
    environment: {
      SERVICE_NAME: 'Bench',
      ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
      ACS_SOURCE_PHONE_NUMBER: '+12065550199',
      ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
      CALLBACK_BASE_URL: url,
      ...environment,
    },
    ready: /^Functions host ready/,
    ...(onLine === undefined ? {} : { onLine }),
  });
  const { pid } = service;
  if (pid === undefined) throw new Error('the app has no process');
  return {
    url,
    pid,
    stop: async () => service.stop(),
    kill: async () => {
      service.kill();
      await service.exited;
    },
  };
};
