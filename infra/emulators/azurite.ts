import { createRequire } from 'node:module';

import { onFreePort } from './free-port.ts';
import { ServiceProcess } from './service-process.ts';

/** The account of every Azurite. Its name and key are documented by Microsoft. */
const ACCOUNT = 'devstoreaccount1';
const ACCOUNT_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/**
 * Azurite saves its data and ends on SIGINT, but does not notice the end of its parent. This module, loaded before Azurite, sends a SIGINT when the
 * IPC channel to the parent closes.
 */
const END_WITH_PARENT = 'data:text/javascript,process.once("disconnect",()=>process.emit("SIGINT"))';

/** A running Azurite table service, a child process. `kill` loses unsaved data. */
export interface Azurite extends Pick<ServiceProcess, 'exited' | 'stop' | 'kill'> {
  /** For `TableServiceClient.fromConnectionString` with `allowInsecureConnection`, and for TABLES_CONNECTION_STRING. */
  readonly connectionString: string;
  readonly port: number;
}

/**
 * Starts the installed Azurite's table service on a free port and waits until it answers.
 *
 * @param dataDir the directory that keeps the tables between runs; undefined: they are in memory
 * @throws {Error} with Azurite's own output if it does not start
 * @example
 * const azurite = await startAzurite();
 * const tables = TableServiceClient.fromConnectionString(azurite.connectionString, { allowInsecureConnection: true });
 */
export const startAzurite = async ({ dataDir }: { readonly dataDir?: string } = {}): Promise<Azurite> =>
  onFreePort(async (port) => {
    const service = await ServiceProcess.start({
      name: 'Azurite',
      args: [
        `--import=${END_WITH_PARENT}`,
        createRequire(import.meta.url).resolve('azurite/dist/src/table/main.js'),
        '--tableHost=127.0.0.1',
        `--tablePort=${port}`,
        '--silent',
        '--skipApiVersionCheck',
        '--disableTelemetry',
        ...(dataDir === undefined ? ['--inMemoryPersistence'] : [`--location=${dataDir}`]),
      ],
      environment: process.env,
      ready: /successfully started/,
    });
    const connectionString = [
      'DefaultEndpointsProtocol=http',
      `AccountName=${ACCOUNT}`,
      `AccountKey=${ACCOUNT_KEY}`,
      `TableEndpoint=http://127.0.0.1:${port}/${ACCOUNT}`,
    ].join(';');
    const { exited } = service;
    return { connectionString, port, exited, stop: () => service.stop(), kill: () => service.kill() };
  });
