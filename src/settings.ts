import * as z from 'zod';

import type { Connection } from './azure/connection.ts';
import { connectionOf, oneOf, tablesConnectionString } from './settings/connections.ts';
import { phoneProblems, phoneSchemas, type PhoneSettings, phoneSettings } from './settings/phone.ts';
import { categoryList, containerUrl, httpsUrl, text, integer } from './settings/rules.ts';
import { SettingsError } from './settings/settings-error.ts';
import { visibleFault } from './visible-text.ts';

const MAX_WINDOW_SECONDS = 366 * 86_400;
const DAY_MS = 86_400_000;

/**
 * Every setting of the service by its environment name, with its rule and its default; an empty value counts as not set. A new
 * setting is a line here and a line in {@link settingsOf}.
 */
export const settingSchemas = {
  // ACS and Twilio accept messages of at most 4,000 characters: at ACS with the name three times, at Twilio with the name once, escaped.
  SERVICE_NAME: text
    .trim()
    .refine((name) => name.length <= 200 && visibleFault(name) === undefined, 'must be 1 to 200 visible characters'),
  CACHE_TS_UTC_WINDOW_SECONDS: integer(1, MAX_WINDOW_SECONDS).prefault('86400'),
  DETECTION_CATEGORIES: categoryList.prefault('fire,smoke,structure'),
  COUNTER_SHARDS: integer(1, 64).prefault('1'),
  EVENT_RETENTION_DAYS: integer(1, 36_500).optional(),
  BACKUP_CONTAINER_URL: containerUrl.optional(),
  HTTP_STREAMS: text.regex(/^(on|off)$/, 'must be on or off').prefault('off'),
  TABLES_CONNECTION_STRING: tablesConnectionString.optional(),
  TABLES_ENDPOINT: httpsUrl.optional(),
  TABLES_PREFIX: text
    .regex(/^[A-Za-z][A-Za-z0-9]{0,49}$/, 'must be a letter and up to 49 letters or digits')
    .optional(),
  ...phoneSchemas,
} as const;

const environmentSchema = z.object(settingSchemas);

/** The settings as the service uses them. Secrets are in the two connections only. */
const settingsOf = (
  value: z.output<typeof environmentSchema>,
  tables: Connection,
  phone: PhoneSettings | undefined,
  lacking: readonly string[],
) => ({
  /** Spoken in the message. */
  serviceName: value.SERVICE_NAME,
  /** The sliding window of the analytics, in seconds. */
  windowSeconds: value.CACHE_TS_UTC_WINDOW_SECONDS,
  /** Always present in the answers. */
  detectionCategories: value.DETECTION_CATEGORIES,
  /** Shards of each day, 1 to 64: each number has its table. */
  counterShards: value.COUNTER_SHARDS,
  /** A day is closed when it ended at least this number of days ago; undefined: days stay open. */
  eventRetentionDays: value.EVENT_RETENTION_DAYS,
  /** The container for backups of days, perhaps with a signature; undefined: no backups. */
  backupContainerUrl: value.BACKUP_CONTAINER_URL,
  /** Whether requests come as streams. Without streams, a body in chunks does not arrive. */
  hasHttpStreams: value.HTTP_STREAMS === 'on',
  tables: { connection: tables, prefix: value.TABLES_PREFIX ?? '' },
  /** Undefined: the phone is off. */
  phone,
  /** If the phone is off: the names of the settings that it lacks. */
  phoneLacks: phone === undefined ? lacking : [],
  /** When the timer looks for due calls. With the phone off, it cleans up. */
  sweepSchedule: value.SWEEP_SCHEDULE,
  /** How long rows about calls are kept, in milliseconds. */
  callRetentionMs: value.CALL_RETENTION_DAYS * DAY_MS,
});

/** The service's settings, checked. */
export type Settings = Readonly<ReturnType<typeof settingsOf>>;

/**
 * Environment → typed settings.
 *
 * @param environment variables by name; others than the service's own are ignored
 * @throws {SettingsError} that names every wrong or missing setting and prints no value
 * @example const settings = readSettings(process.env);
 */
export const readSettings = (environment: Readonly<Record<string, string | undefined>>): Settings => {
  const given = Object.fromEntries(
    Object.keys(settingSchemas).flatMap((name) => {
      const value = environment[name]?.trim();
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const parsed = environmentSchema.safeParse(given);
  const { TABLES_CONNECTION_STRING: connectionString, TABLES_ENDPOINT: endpoint } = parsed.data ?? {};
  const tables = connectionOf(connectionString, endpoint);
  const missing = [...oneOf(given, ['TABLES_CONNECTION_STRING', 'TABLES_ENDPOINT']), ...phoneProblems(given)];
  if (!parsed.success || tables === undefined || missing.length > 0) {
    throw new SettingsError([
      ...(parsed.error?.issues ?? []).map(({ path, message }) => ({ setting: path.join('.'), detail: message })),
      ...missing,
    ]);
  }
  const lacking = phoneProblems({ ...given, PHONE: 'on' }).map(({ setting }) => setting);
  return settingsOf(parsed.data, tables, phoneSettings(given, parsed.data), lacking);
};
