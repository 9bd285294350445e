import { readFile } from 'node:fs/promises';

import { z } from 'zod';

/** Settings by their environment names. */
export type Settings = Readonly<Record<string, string>>;

const localSettingsSchema = z.object({ Values: z.record(z.string(), z.string()).default({}) });

/**
 * The `Values` of a file like local.settings.json.
 *
 * @throws {Error} that names the file where it cannot be read, is not JSON, or a value is not a string
 */
export const readSettingsFile = async (path: string): Promise<Settings> => {
  try {
    return localSettingsSchema.parse(JSON.parse(await readFile(path, 'utf8'))).Values;
  } catch (error) {
    throw new Error(`${path} is not a settings file: valid JSON, and under "Values" strings only.`, { cause: error });
  }
};

/**
 * The file's settings without those that are meant for `func start`: Azurite on its usual port and the address of this machine. A
 * local run starts its own Azurite and chooses its own address.
 */
export const withoutLocalParts = (fileSettings: Settings): Settings =>
  Object.fromEntries(
    Object.entries(fileSettings).filter(
      ([name, value]) =>
        !(name === 'TABLES_CONNECTION_STRING' && /^UseDevelopmentStorage=true;?$/i.test(value)) &&
        !(name === 'CALLBACK_BASE_URL' && /^http:\/\/(localhost|127\.0\.0\.1)(:|\/|$)/i.test(value)),
    ),
  );

/** Pairs of settings of which only one may be set. Where a stronger source sets either, weaker sources set neither. */
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
export const mergeSettings = (...strongestFirst: readonly Readonly<Record<string, string | undefined>>[]): Settings => {
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

/** True where any of the settings is given. */
export const gives = (settings: Settings, ...names: readonly string[]): boolean =>
  names.some((name) => name in settings);
