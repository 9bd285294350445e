import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildApp } from '../infra/build/bundle.ts';
import { type AcsSimulator, startAcsSimulator } from '../infra/emulators/acs-simulator/simulator.ts';
import { startAzurite } from '../infra/emulators/azurite.ts';
import { onFreePort } from '../infra/emulators/free-port.ts';
import type { SimulatorOptions } from '../infra/emulators/phone-network/phone-network.ts';
import { ServiceProcess } from '../infra/emulators/service-process.ts';
import { Between, type Rule } from '../test/harness/between.ts';
import { buildCommands } from '../test/harness/built-command.ts';
import { moved } from './movement.ts';

const HOST_JSON = fileURLToPath(new URL('../host.json', import.meta.url));

/** A process with one instance of the service. */
export interface Served {
  /** Without a slash at its end. */
  readonly url: string;
  readonly pid: number;
}

/** The paths of the release bundle, and of the host as one file: tsx would use the memory and time of another service. */
interface Built {
  readonly bundle: string;
  readonly host: string;
}

/** Starts the processes of a benchmark, and ends them after it in reverse order. */
export class Stage {
  readonly #ends: (() => Promise<unknown>)[] = [];
  static #built: Promise<Built> | undefined;

  /** Runs a measurement, however it ends. */
  static async run<Result>(measure: (stage: Stage) => Promise<Result>): Promise<Result> {
    const stage = new Stage();
    try {
      return await measure(stage);
    } finally {
      for (const end of stage.#ends.toReversed()) await end();
    }
  }

  /** Builds the release bundle and the host that serves it, once for all benchmarks. */
  static async built(): Promise<Built> {
    Stage.#built ??= (async () => {
      const directory = mkdtempSync(join(tmpdir(), 'bench-'));
      process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
      const bundle = join(directory, 'main.cjs');
      await buildApp({ outfile: bundle, debug: false });
      const host = (await buildCommands(directory, { host: 'cli/functions-host.ts' }))('host');
      moved();
      return { bundle, host };
    })();
    return Stage.#built;
  }

  /** The connection string of an empty Azurite. */
  async azurite(): Promise<string> {
    const azurite = await startAzurite();
    this.#ends.push(async () => azurite.stop());
    return azurite.connectionString;
  }

  /** A proxy before a storage, which counts the requests, and does to them what the rule says. */
  async proxy(connectionString: string, rule?: Rule): Promise<Between> {
    const proxy = await Between.start(connectionString);
    if (rule !== undefined) proxy.rule = rule;
    this.#ends.push(async () => proxy.stop());
    return proxy;
  }

  async acs(pace: SimulatorOptions['pace']): Promise<AcsSimulator> {
    const acs = await startAcsSimulator(pace === undefined ? {} : { pace });
    this.#ends.push(async () => acs.stop());
    return acs;
  }

  /** Serves the release bundle on a free port. No timer function runs. `environment` is added to what every start needs. */
  async serve(connectionString: string, environment: Readonly<Record<string, string>> = {}): Promise<Served> {
    const built = await Stage.built();
    const given = { TABLES_CONNECTION_STRING: connectionString, ...environment };
    return onFreePort(async (port) => this.#serveOn(port, built, given));
  }

  async #serveOn(
    port: number,
    { bundle, host }: Built,
    environment: Readonly<Record<string, string>>,
  ): Promise<Served> {
    const url = `http://127.0.0.1:${port}`;
    const service = await ServiceProcess.start({
      name: 'The app',
      args: [host, `--bundle=${bundle}`, `--host-json=${HOST_JSON}`, `--port=${port}`, '--no-schedules'],
      environment: { ...PHONE, CALLBACK_BASE_URL: url, ...environment },
      ready: /^Functions host ready/,
    });
    // At once: work that it still has to do must not disturb the next measurement.
    this.#ends.push(async () => {
      service.kill();
      await service.exited;
    });
    moved();
    if (service.pid === undefined) throw new Error('the app has no process');
    return { url, pid: service.pid };
  }
}

/** Settings with which the service starts; nothing answers at that address. */
export const PHONE = {
  SERVICE_NAME: 'Bench',
  ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
} as const;
