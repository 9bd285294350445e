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

/** How to start Azurite. */
interface AzuriteOptions {
  /** The port of 127.0.0.1 to listen on; undefined: a free port. */
  readonly port?: number;
  /** The directory that keeps the tables between runs; undefined: they are in memory. */
  readonly dataDir?: string;
}

/** A running Azurite table service, a child process. */
export interface Azurite {
  /** For `TableServiceClient.fromConnectionString` with `allowInsecureConnection`, and for TABLES_CONNECTION_STRING. */
  readonly connectionString: string;
  readonly port: number;
  readonly pid: number | undefined;
  /** Fulfils with the reason when the process has ended. */
  readonly exited: Promise<string>;
  /** Saves the tables, ends the process and waits for its end. */
  stop(): Promise<void>;
  /** Ends the process at once. Unsaved data is lost. */
  kill(): void;
}

/**
 * Starts the installed Azurite's table service and waits until it answers.
 *
 * @throws {Error} with Azurite's own output if it does not start
 * @example
 * const azurite = await startAzurite();
 * const tables = TableServiceClient.fromConnectionString(azurite.connectionString, { allowInsecureConnection: true });
 */
export const startAzurite = async ({ port, dataDir }: AzuriteOptions = {}): Promise<Azurite> =>
  port === undefined ? onFreePort(async (free) => startOn(free, dataDir)) : startOn(port, dataDir);

const startOn = async (port: number, dataDir: string | undefined): Promise<Azurite> => {
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
  return {
    connectionString: [
      'DefaultEndpointsProtocol=http',
      `AccountName=${ACCOUNT}`,
      `AccountKey=${ACCOUNT_KEY}`,
      `TableEndpoint=http://127.0.0.1:${port}/${ACCOUNT}`,
    ].join(';'),
    port,
    pid: service.pid,
    exited: service.exited,
    stop: () => service.stop(),
    kill: () => service.kill(),
  };
};
