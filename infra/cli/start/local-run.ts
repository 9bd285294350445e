import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { LOOPBACK_HOST } from '../../../src/settings/rules.ts';
import { buildApp } from '../../build/bundle.ts';
import { CommandError } from '../command-line.ts';
import type { Pace } from '../../emulators/phone-network/phone-call.ts';
import { type AcsSimulator, startAcsSimulator } from '../../emulators/acs-simulator/simulator.ts';
import { startTwilioSimulator, type TwilioSimulator } from '../../emulators/twilio-simulator/simulator.ts';
import { type Azurite, startAzurite } from '../../emulators/azurite.ts';
import { polled } from '../../emulators/deadline.ts';
import { portIsFree } from '../../emulators/free-port.ts';
import { lockData } from './data-lock.ts';
import {
  gives,
  isOnThisMachine,
  mergeSettings,
  nameWarnings,
  phoneSettings,
  readSettingsFile,
  type Settings,
  SETTINGS_FILE,
  withoutLocalParts,
} from './local-settings.ts';
import type { StartOptions } from './options.ts';
import { PHONE_MARK } from './readable-line.ts';
import { removeRunDirectory, runDirectory, writeRunNote } from './run-directory.ts';
import { ServiceProcess } from '../../emulators/service-process.ts';

export interface LocalParts {
  readonly pace?: Pace;
  /** The path of a debug bundle, which is built by default. */
  readonly bundle?: string;
}

export interface LocalRun {
  /** Without a slash at its end. */
  readonly url: string;
  readonly settings: Settings;
  /** Undefined if real storage is used. */
  readonly azurite: Azurite | undefined;
  readonly settingsFile: string | undefined;
  /** Undefined if a real telephone service is used, or the phone is off. */
  readonly simulator: AcsSimulator | TwilioSimulator | undefined;
  /** Sentences for the operator: storage does not answer, or a name of a setting is unknown. */
  readonly warnings: readonly string[];
  /** Fulfills with the reason when the first part ends, even if it was stopped. */
  readonly partLost: Promise<string>;
  /** Stops the parts gracefully, the functions first, and waits until they have ended. */
  stop(): Promise<void>;
}

/** Receives a line, and whether the app logged it as a warning or an error. */
export type Print = (line: string, isWrong?: boolean) => void;

/** A part of a local run. Only a part in a process of its own has `exited`. */
interface Part {
  stop(): Promise<void>;
  readonly exited?: Promise<string>;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const HOST_MAIN = fileURLToPath(new URL('../functions-host.ts', import.meta.url));

/** The upper bound of the setting CALLS_AT_ONCE. */
const MOST_CALLS_AT_ONCE = 100;

const HEALTH_MILLISECONDS = 20_000;

/**
 * Builds the debug bundle and starts it with Azurite and a simulated phone, unless `environment` or the settings file names real services.
 *
 * @param environment wins over the settings file, which wins over the local defaults
 * @param print receives the lines of the app's log and of the simulated phone
 * @throws {CommandError} if the port or the folder is in use, or settings contradict each other; {Error} with its output if a part does not
 *   start. Parts that were started are stopped before.
 */
export const startLocalRun = async (
  { port, data, settings: settingsFile, phone, lines, 'verify-callbacks': verifiesCallbacks }: StartOptions,
  environment: NodeJS.ProcessEnv,
  print: Print,
  { pace = PACE, bundle }: LocalParts = {},
): Promise<LocalRun> => {
  if (!(await portIsFree(port))) throw portInUse(port);
  const fileSettings = await readSettingsFile(settingsFile);
  const given = givenSettings(environment, fileSettings);
  mustReachThisMachine(given, port);
  mustPhoneForRealTable(given);
  const parts: Part[] = [];
  const stop = async (): Promise<void> => {
    for (const part of parts.toReversed()) await part.stop();
  };
  const started = <Started extends Part>(part: Started): Started => {
    parts.push(part);
    return part;
  };
  try {
    const hasOwnTables = !gives(given, 'TABLES_CONNECTION_STRING', 'TABLES_ENDPOINT');
    if (hasOwnTables && data !== undefined) {
      const unlock = lockData(data);
      started({ stop: async () => unlock() });
    }
    const bundlePath = bundle ?? join(runDirectory(port), 'main.cjs');
    if (bundle === undefined) await buildApp({ outfile: bundlePath, debug: true });
    started({ stop: () => removeRunDirectory(port) });

    const azurite = hasOwnTables
      ? started(await startAzurite(data === undefined ? {} : { dataDir: resolve(data) }))
      : undefined;
    const options = { pace, lines, print: (line: string) => print(`${PHONE_MARK} ${line}`) };
    const startPhone = async () =>
      phone === 'acs' ? startAcsSimulator(options) : startTwilioSimulator({ ...options, callsPerSecond: 1 });
    const isSimulated = given['PHONE'] !== 'off' && !gives(given, ...REAL_PHONE);
    const simulator = isSimulated ? started(await startPhone()) : undefined;
    const settings = mergeSettings(
      given,
      {
        SERVICE_NAME: 'Wildfire Watch',
        CALLBACK_BASE_URL: `http://127.0.0.1:${port}`,
        TABLES_CONNECTION_STRING: azurite?.connectionString,
      },
      simulator === undefined ? {} : phoneSettings(simulator, verifiesCallbacks),
      simulator === undefined ? {} : { CALLS_AT_ONCE: String(Math.min(lines, MOST_CALLS_AT_ONCE)) },
    );
    // The tables hold no secret, because the key of every Azurite is public.
    const { TABLES_CONNECTION_STRING = '', TABLES_PREFIX = '', COUNTER_SHARDS = '' } = settings;
    const tables = azurite && { TABLES_CONNECTION_STRING, TABLES_PREFIX, COUNTER_SHARDS };
    await writeRunNote(port, { simulatorUrl: simulator?.url, tables });
    started(await startHost(port, bundlePath, settings, print));
    const url = `http://localhost:${port}`;
    return {
      url,
      settings,
      azurite,
      settingsFile: settingsFile ?? (Object.keys(fileSettings).length > 0 ? SETTINGS_FILE : undefined),
      simulator,
      warnings: [
        ...((await becomesHealthy(url)) ? [] : ['GET /api/health is not 200: the storage does not answer.']),
        ...nameWarnings(settingsFile ?? SETTINGS_FILE, fileSettings, environment),
      ],
      partLost: Promise.race(parts.flatMap(({ exited }) => exited ?? [])),
      stop,
    };
  } catch (error) {
    await stop();
    throw error instanceof Error && error.message.includes('EADDRINUSE') ? portInUse(port) : error;
  }
};

/**
 * The settings of the environment and the file. PHONE=off in a file is for `func start`, as in the example: here the simulated phone is on, unless
 * the tables or the phone are real.
 */
const givenSettings = (environment: NodeJS.ProcessEnv, file: Settings): Settings => {
  const { PHONE: _, ...withoutPhone } = withoutLocalParts(file);
  const given = mergeSettings(environment, withoutLocalParts(file));
  const usesReal = gives(given, ...REAL_PHONE) || !isOnThisMachine(given);
  return usesReal ? given : mergeSettings(environment, withoutPhone);
};

const REAL_PHONE = ['ACS_CONNECTION_STRING', 'ACS_ENDPOINT', 'TWILIO_ACCOUNT_SID'] as const;

/** @throws {CommandError} if calls would be real, and their callbacks would not arrive here: callees would hear nothing */
const mustReachThisMachine = (given: Settings, port: number): void => {
  const { ACS_CONNECTION_STRING, ACS_ENDPOINT, CALLBACK_BASE_URL: base = 'http://localhost' } = given;
  const acs = ACS_ENDPOINT ?? /(?:^|;) *endpoint=([^;]+)/i.exec(ACS_CONNECTION_STRING ?? '')?.[1];
  const twilio = 'TWILIO_ACCOUNT_SID' in given ? (given['TWILIO_API_BASE_URL'] ?? 'https://api.twilio.com') : undefined;
  const real = [acs, twilio].filter((url) => url !== undefined && URL.canParse(url) && !isLoopback(url));
  if (given['PHONE'] === 'off' || real.length === 0) return;
  if (!URL.canParse(base) || !isLoopback(base)) return;
  throw new CommandError(
    'Calls would be real, and the telephone service could not tell this machine when a callee answers. Set CALLBACK_BASE_URL to a public https address\n' +
      `that forwards to http://localhost:${port}, or PHONE=off.`,
  );
};

/** @throws {CommandError} if the tables are a real service's and the phone is simulated: no person would be phoned */
const mustPhoneForRealTable = (given: Settings): void => {
  if (given['PHONE'] === 'off' || gives(given, ...REAL_PHONE) || isOnThisMachine(given)) return;
  throw new CommandError(
    'The tables belong to a real service. The simulated phone would answer its calls, so no person would be called. Set PHONE=off, or name a real\n' +
      'telephone service.',
  );
};

const isLoopback = (url: string): boolean => LOOPBACK_HOST.test(new URL(url).hostname);

/** Slow enough to follow on a terminal, fast enough for a test call to end within seconds. */
const PACE: Pace = { ringMs: 1_000, eventMs: 100, speakMs: 2_000 };

const startHost = async (
  port: number,
  bundlePath: string,
  settings: Settings,
  print: Print,
): Promise<ServiceProcess> => {
  // If the start fails, the error quotes these lines.
  let buffered: (readonly [line: string, isWrong: boolean])[] | undefined = [];
  const host = await ServiceProcess.start({
    name: 'The functions host',
    args: [
      `--import=${import.meta.resolve('tsx')}`,
      HOST_MAIN,
      `--bundle=${bundlePath}`,
      `--host-json=${join(ROOT, 'host.json')}`,
      `--port=${port}`,
    ],
    // Azure sets it too. The app needs the port for the command that it names in the log line about damage.
    environment: { ...settings, WEBSITE_HOSTNAME: `localhost:${port}` },
    ready: /^Functions host ready/,
    onLine: (line, isWrong) => (buffered === undefined ? print(line, isWrong) : void buffered.push([line, isWrong])),
  });
  for (const [line, isWrong] of buffered) print(line, isWrong);
  buffered = undefined;
  return host;
};

const portInUse = (port: number): CommandError =>
  new CommandError(
    `Port ${port} is in use. Stop the program that uses it, or choose another port: npm start -- --port N`,
  );

const becomesHealthy = async (url: string): Promise<boolean> => {
  const signal = AbortSignal.timeout(HEALTH_MILLISECONDS);
  const isHealthy = async () => (await fetch(`${url}/api/health`, { signal }).catch(() => undefined))?.ok;
  return (await polled(HEALTH_MILLISECONDS, async () => (await isHealthy()) === true || undefined)) === true;
};
