import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { z } from 'zod';

import { LOOPBACK_HOST } from '../../../src/settings/rules.ts';
import { settingSchemas } from '../../../src/settings.ts';
import { CommandError, isMissing } from '../command-line.ts';
import type { AcsSimulator } from '../../emulators/acs-simulator/simulator.ts';
import type { TwilioSimulator } from '../../emulators/twilio-simulator/simulator.ts';

export type Settings = Readonly<Record<string, string>>;

/** Settings of one source; undefined or blank: the source does not give this setting. */
type Given = Readonly<Record<string, string | undefined>>;

const localSettingsSchema = z.object({ Values: z.record(z.string(), z.string()).default({}) });

/** The repository's own settings file, which a command reads by default. */
export const SETTINGS_FILE = 'local.settings.json';
const LOCAL_SETTINGS = fileURLToPath(new URL(`../../../${SETTINGS_FILE}`, import.meta.url));

/**
 * The `Values` of a file like local.settings.json.
 *
 * @param path undefined: the repository's own file, if it exists
 * @throws {CommandError} that names the file and quotes nothing of it
 */
export const readSettingsFile = async (path: string | undefined): Promise<Settings> => {
  if (path === undefined) return existsSync(LOCAL_SETTINGS) ? readSettingsFile(LOCAL_SETTINGS) : {};
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`The settings file ${path} ${isMissing(error) ? 'does not exist' : 'cannot be read'}.`);
  });
  const { data, error } = localSettingsSchema.safeParse(jsonOf(path, text));
  if (data !== undefined) return data.Values;
  const wrong = error.issues.map((issue) => issue.path.join('.') || 'the whole file').join(', ');
  throw new CommandError(`${path} is not a settings file: "Values" must contain only strings. Invalid: ${wrong}.`);
};

const jsonOf = (path: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The rest of the message quotes values, which may be secrets.
    const [place = ''] = / \(line \d+ column \d+\)$/.exec(String(error)) ?? [];
    throw new CommandError(`${path} is not valid JSON${place}.`);
  }
};

/** Settings of the Functions host, which a settings file may have as well. */
const HOST_SETTINGS = /^(FUNCTIONS_|AzureWebJobs|AzureFunctions|WEBSITE_|APPLICATIONINSIGHTS_|languageWorkers)/;

/** The names that neither the service nor the Functions host knows. */
const unknownNames = (settings: Given): readonly string[] =>
  Object.keys(settings).filter((name) => !Object.hasOwn(settingSchemas, name) && !HOST_SETTINGS.test(name));

/** A warning for each unknown name in the settings file, and for each name in the environment that is close to a setting. */
export const nameWarnings = (file: string, fileSettings: Settings, environment: Given): readonly string[] => [
  ...unknownNames(fileSettings).map((name) => `${file} has ${name}, which is not a setting of this service.`),
  ...unknownNames(environment).flatMap((name) => {
    const meant = Object.keys(settingSchemas).find((known) => isClose(name, known));
    return meant === undefined ? [] : [`${name} is not a setting of this service. Did you mean ${meant}?`];
  }),
];

/** A close name has at most one wrong letter in six. */
const LETTERS_A_MISTAKE = 6;

const isClose = (name: string, known: string): boolean =>
  distance(name.toUpperCase(), known) <= Math.max(1, Math.floor(known.length / LETTERS_A_MISTAKE));

/** The number of letters to add, leave out or replace (Levenshtein). */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(one).entries()) {
    const next = [index + 1];
    for (const [at, own] of Array.from(other).entries()) {
      const replaced = (row[at] ?? 0) + (letter === own ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
};

/** The default of the service for a setting, as the text that a file would have. */
const defaultOf = (name: string): string | undefined => {
  const schema = new Map<string, z.ZodType>(Object.entries(settingSchemas)).get(name);
  const { data } = schema?.safeParse(undefined) ?? {};
  if (Array.isArray(data)) return data.join(',');
  return typeof data === 'string' || typeof data === 'number' ? String(data) : undefined;
};

/**
 * The file's settings without settings for `func start`: Azurite on its usual port and the address of this machine. A local run starts its own
 * Azurite and chooses its own address. Settings that only repeat a default of the service, as in a copy of the example, are also left out: a local
 * run has its own defaults.
 */
export const withoutLocalParts = (fileSettings: Settings): Settings =>
  Object.fromEntries(
    Object.entries(fileSettings).filter(
      ([name, value]) =>
        value !== defaultOf(name) &&
        !(name === 'TABLES_CONNECTION_STRING' && /^UseDevelopmentStorage=true;?$/i.test(value)) &&
        !(name === 'CALLBACK_BASE_URL' && /^http:\/\/(localhost|127\.0\.0\.1)(:|\/|$)/i.test(value)),
    ),
  );

/** Pairs of settings that exclude each other. If a stronger source sets either, weaker sources set neither. */
const ALTERNATIVES: readonly (readonly [string, string])[] = [
  ['TABLES_CONNECTION_STRING', 'TABLES_ENDPOINT'],
  ['ACS_CONNECTION_STRING', 'ACS_ENDPOINT'],
  ['ACS_SOURCE_PHONE_NUMBER', 'ACS_TEAMS_RESOURCE_ACCOUNT_ID'],
];

/**
 * One environment from several sources. The first source that gives a setting wins; an empty value gives nothing.
 *
 * @example mergeSettings(process.env, withoutLocalParts(await readSettingsFile('local.settings.json')), defaults)
 */
export const mergeSettings = (...strongestFirst: readonly Given[]): Settings => {
  const merged: Record<string, string> = {};
  for (const source of strongestFirst) {
    const taken = new Set(ALTERNATIVES.filter((pair) => pair.some((name) => name in merged)).flat());
    for (const [name, value] of Object.entries(source)) {
      if (value === undefined || value.trim() === '' || name in merged || taken.has(name)) continue;
      merged[name] = value;
    }
  }
  return merged;
};

/** Whether the settings name an emulator on this machine, or no tables: a local run starts its own emulator. */
export const isOnThisMachine = ({
  TABLES_CONNECTION_STRING: connection,
  TABLES_ENDPOINT: endpoint,
}: Settings): boolean => {
  if (endpoint !== undefined) return false;
  const [, url] = /(?:^|;) *TableEndpoint=([^;]+)/i.exec(connection ?? '') ?? [];
  if (url !== undefined) return URL.canParse(url) && LOOPBACK_HOST.test(new URL(url).hostname);
  return connection === undefined || /UseDevelopmentStorage=true/i.test(connection);
};

export const gives = (settings: Settings, ...names: readonly string[]): boolean =>
  names.some((name) => name in settings);

export const accountOf = (twilio: TwilioSimulator) => ({
  TWILIO_API_BASE_URL: twilio.url,
  TWILIO_ACCOUNT_SID: twilio.accountSid,
  TWILIO_API_KEY_SID: twilio.apiKeySid,
  TWILIO_API_KEY_SECRET: twilio.apiKeySecret,
  TWILIO_AUTH_TOKEN: twilio.authToken,
  TWILIO_SOURCE_PHONE_NUMBER: twilio.number,
});

/**
 * The settings of a local run that name its simulated phone. A real telephone service has no defaults: the app names the missing settings.
 *
 * @param verifiesCallbacks false: every sender may post a callback of ACS, as without ACS_RESOURCE_ID. Callbacks of Twilio are always verified
 */
export const phoneSettings = (simulator: AcsSimulator | TwilioSimulator, verifiesCallbacks: boolean): Settings => ({
  // A minute, the default of the service, is long for a reader of the demo.
  CALL_RETRY_SECONDS: '5',
  EVENT_TOPIC_ENDPOINT: simulator.topic.endpoint,
  EVENT_TOPIC_KEY: simulator.topic.key,
  ...('accountSid' in simulator
    ? { PHONE_PROVIDER: 'twilio', ...accountOf(simulator) }
    : {
        ACS_CONNECTION_STRING: simulator.connectionString,
        ACS_SOURCE_PHONE_NUMBER: '+12065550199',
        ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
        ...(verifiesCallbacks && {
          ACS_RESOURCE_ID: simulator.resourceId,
          ACS_TOKEN_ISSUER: simulator.issuer,
          ACS_TOKEN_KEYS_URL: simulator.keysUrl,
        }),
      }),
});
