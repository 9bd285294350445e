import * as z from 'zod';

/** A problem with one setting: its name and what is wrong with it, never its value. */
export interface SettingProblem {
  readonly setting: string;
  readonly detail: string;
}

/** Thrown at load when settings are wrong or missing. Names every problem at once and prints no value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[]) {
    super(['The app cannot start:', ...problems.map((p) => `  ${p.setting}: ${p.detail}`)].join('\n'));
    this.problems = problems;
  }
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

// Node 20 has no URL.parse.
const parseUrl = (value: string): URL | null => (URL.canParse(value) ? new URL(value) : null);

const isHttpsOrLoopback = (value: string): boolean => {
  const url = parseUrl(value);
  if (url === null) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK_HOST.test(url.hostname));
};

const httpsOrLoopbackUrl = z
  .string()
  .refine(isHttpsOrLoopback, 'must be an https URL (http is accepted for loopback addresses only)');

const isPlainBase = (value: string): boolean => {
  const url = parseUrl(value);
  return url === null || (url.search === '' && url.hash === '' && url.username === '' && url.password === '');
};

const baseUrl = httpsOrLoopbackUrl
  .refine(isPlainBase, 'must have no query, fragment or credentials')
  .transform((value) => value.replace(/\/+$/, ''));

const httpsUrl = z.string().refine((value) => parseUrl(value)?.protocol === 'https:', 'must be an https URL');

/** The parts of a connection string, names in lower case; undefined where the text is not of that form. */
const connectionStringParts = (value: string): ReadonlyMap<string, string> | undefined => {
  const parts = new Map<string, string>();
  for (const part of value.split(';')) {
    if (part.trim() === '') continue;
    const at = part.indexOf('=');
    if (at < 1) return undefined;
    parts.set(part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim());
  }
  return parts;
};

const isBase64 = (value: string): boolean =>
  value !== '' && value.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(value);

const isTablesConnectionString = (value: string): boolean => {
  const parts = connectionStringParts(value);
  if (parts === undefined) return false;
  if (parts.get('usedevelopmentstorage')?.toLowerCase() === 'true') return true;
  const endpoint = parts.get('tableendpoint');
  if (endpoint !== undefined && !isHttpsOrLoopback(endpoint)) return false;
  if (endpoint === undefined && parts.get('defaultendpointsprotocol')?.toLowerCase() === 'http') return false;
  const key = parts.get('accountkey');
  return parts.has('accountname')
    ? key !== undefined && isBase64(key)
    : endpoint !== undefined && parts.has('sharedaccesssignature');
};

const isAcsConnectionString = (value: string): boolean => {
  const parts = connectionStringParts(value);
  const key = parts?.get('accesskey');
  return key !== undefined && isBase64(key) && isHttpsOrLoopback(parts?.get('endpoint') ?? '');
};

/** The default issuer of the token on ACS callbacks; its keys are below it. */
const ACS_TOKEN_ISSUER = 'https://acscallautomation.communication.azure.com';

const MAX_WINDOW_SECONDS = 366 * 86_400;

const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${least} to ${most}`)
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be a whole number from ${least} to ${most}`);

const categoryList = z
  .string()
  .transform((value) => [...new Set(value.split(',').map((name) => name.trim()))])
  .refine(
    (names) => names.length <= 64 && names.every((name) => /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name)),
    'must be 1 to 64 categories with commas between them, each a letter and up to 63 letters, digits, _ or -',
  );

const REQUIRED = { error: 'is required' };

/**
 * Every setting of the service, by its environment name. Defaults and rules are those of the README's table;
 * an empty value counts as not set.
 */
export const settingSchemas = {
  SERVICE_NAME: z
    .string(REQUIRED)
    .trim()
    // The message says the name three times and ACS speaks at most 4,000 characters.
    .regex(/^[^\p{Cc}]{1,200}$/u, 'must be 1 to 200 characters without control characters'),
  CACHE_TS_UTC_WINDOW_SECONDS: wholeNumber(1, MAX_WINDOW_SECONDS).prefault('86400'),
  DETECTION_CATEGORIES: categoryList.prefault('fire,smoke,structure'),
  COUNTER_SHARDS: wholeNumber(1, 64).prefault('1'),
  TABLES_CONNECTION_STRING: z
    .string()
    .refine(
      isTablesConnectionString,
      'is not a storage connection string (http is accepted for loopback addresses only)',
    )
    .optional(),
  TABLES_ENDPOINT: httpsUrl.optional(),
  TABLES_PREFIX: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9]{0,49}$/, 'must be a letter and up to 49 letters or digits')
    .optional(),
  ACS_CONNECTION_STRING: z
    .string()
    .refine(isAcsConnectionString, 'is not an ACS connection string (http is accepted for loopback addresses only)')
    .optional(),
  ACS_ENDPOINT: httpsUrl.optional(),
  ACS_SOURCE_PHONE_NUMBER: z.string(REQUIRED).regex(/^\+[1-9]\d{6,14}$/, 'must be a phone number in E.164 form'),
  ACS_COGNITIVE_SERVICES_ENDPOINT: z
    .string(REQUIRED)
    .refine((value) => parseUrl(value)?.protocol === 'https:', 'must be an https URL'),
  ACS_RESOURCE_ID: z
    .string()
    .regex(/^\S{1,200}$/, 'must be the immutable id of the ACS resource')
    .optional(),
  ACS_TOKEN_ISSUER: httpsOrLoopbackUrl.prefault(ACS_TOKEN_ISSUER),
  ACS_TOKEN_KEYS_URL: httpsOrLoopbackUrl.optional(),
  CALLBACK_BASE_URL: z.string(REQUIRED).pipe(baseUrl),
  TEST_CALLBACK_BASE_URL: baseUrl.optional(),
} as const;

const environmentSchema = z.object(settingSchemas);

/** How to reach one Azure service: with a key (a connection string) or with the app's own identity (an endpoint). */
export type Connection = { readonly connectionString: string } | { readonly endpoint: string };

/** The service's settings, checked. Secrets are in the two `connection`s only. */
export interface Settings {
  /** Spoken in the message. */
  readonly serviceName: string;
  /** The sliding window of the analytics, in seconds. */
  readonly windowSeconds: number;
  /** Always present in the answers. */
  readonly detectionCategories: readonly string[];
  /** Shards of a day that has no data yet, 1 to 64. */
  readonly counterShards: number;
  readonly tables: { readonly connection: Connection; readonly prefix: string };
  readonly acs: {
    readonly connection: Connection;
    /** E.164; the caller's number. */
    readonly sourcePhoneNumber: string;
    readonly cognitiveServicesEndpoint: string;
    /** The audience of callback tokens; undefined: callbacks are not verified. */
    readonly resourceId: string | undefined;
    readonly tokenIssuer: string;
    readonly tokenKeysUrl: string;
  };
  /** Base of the callback paths, without a slash at its end. */
  readonly callbackBaseUrl: string;
  /** Debug builds: the base for test calls; `callbackBaseUrl` where it is not set. */
  readonly testCallbackBaseUrl: string;
}

const oneConnection = (
  names: readonly [connectionString: string, endpoint: string],
  connectionString: string | undefined,
  endpoint: string | undefined,
  problems: SettingProblem[],
): Connection => {
  if (connectionString !== undefined && endpoint !== undefined) {
    problems.push({ setting: names[1], detail: `cannot be set together with ${names[0]}` });
  }
  if (connectionString !== undefined) return { connectionString };
  if (endpoint === undefined) problems.push({ setting: names[0], detail: `is required, or ${names[1]}` });
  return { endpoint: endpoint ?? '' };
};

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
  const problems: SettingProblem[] = (parsed.error?.issues ?? []).map((issue) => ({
    setting: issue.path.join('.'),
    detail: issue.message,
  }));

  const tables = oneConnection(
    ['TABLES_CONNECTION_STRING', 'TABLES_ENDPOINT'],
    given['TABLES_CONNECTION_STRING'],
    given['TABLES_ENDPOINT'],
    problems,
  );
  const acs = oneConnection(
    ['ACS_CONNECTION_STRING', 'ACS_ENDPOINT'],
    given['ACS_CONNECTION_STRING'],
    given['ACS_ENDPOINT'],
    problems,
  );
  if (!parsed.success || problems.length > 0) throw new SettingsError(problems);

  const value = parsed.data;
  return {
    serviceName: value.SERVICE_NAME,
    windowSeconds: value.CACHE_TS_UTC_WINDOW_SECONDS,
    detectionCategories: value.DETECTION_CATEGORIES,
    counterShards: value.COUNTER_SHARDS,
    tables: { connection: tables, prefix: value.TABLES_PREFIX ?? '' },
    acs: {
      connection: acs,
      sourcePhoneNumber: value.ACS_SOURCE_PHONE_NUMBER,
      cognitiveServicesEndpoint: value.ACS_COGNITIVE_SERVICES_ENDPOINT,
      resourceId: value.ACS_RESOURCE_ID,
      tokenIssuer: value.ACS_TOKEN_ISSUER,
      tokenKeysUrl: value.ACS_TOKEN_KEYS_URL ?? `${value.ACS_TOKEN_ISSUER.replace(/\/+$/, '')}/calling/keys`,
    },
    callbackBaseUrl: value.CALLBACK_BASE_URL,
    testCallbackBaseUrl: value.TEST_CALLBACK_BASE_URL ?? value.CALLBACK_BASE_URL,
  };
};
