import { fileURLToPath } from 'node:url';

import { freePort } from '../../infra/local/free-port.ts';
import { ServiceProcess } from '../../infra/local/service-process.ts';

const HOST = fileURLToPath(new URL('../../infra/local/functions-host/main.ts', import.meta.url));
const HOST_JSON = fileURLToPath(new URL('../../host.json', import.meta.url));

/** A bundle that is served in a process of its own. */
export interface Served {
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves a bundle on a free port; `environment` is added to what every start needs. */
export const serve = async (bundle: string, environment: Readonly<Record<string, string>>): Promise<Served> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await ServiceProcess.start({
    name: 'The app',
    args: [
      `--import=${import.meta.resolve('tsx')}`,
      HOST,
      `--bundle=${bundle}`,
      `--host-json=${HOST_JSON}`,
      `--port=${port}`,
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
  });
  return { url, stop: async () => service.stop() };
};
