import type * as z from 'zod';

import { parsePhoneNumber } from '../calls/model/phone-number.ts';
import { acsConnectionString, connectionOf, oneOf } from './connections.ts';
import {
  baseUrl,
  guid,
  httpsOrLoopbackUrl,
  httpsUrl,
  numberPrefixes,
  phoneNumber,
  schedule,
  text,
  webhookSecret,
  integer,
} from './rules.ts';
import { type Given, type SettingProblem, SettingsError } from './settings-error.ts';
import { isTwilioGiven, twilioProblems, twilioSchemas, twilioSettings } from './twilio.ts';

/** The default issuer of the token on ACS callbacks; its keys are below it. */
const ACS_TOKEN_ISSUER = 'https://acscallautomation.communication.azure.com';

/** The settings of the phone by their environment names; required settings are demanded by {@link phoneSettings}. */
export const phoneSchemas = {
  PHONE: text.regex(/^(on|off)$/, 'must be on or off').prefault('on'),
  PHONE_PROVIDER: text.regex(/^(acs|twilio)$/, 'must be acs or twilio').optional(),
  ACS_CONNECTION_STRING: acsConnectionString.optional(),
  ACS_ENDPOINT: httpsUrl.optional(),
  ACS_SOURCE_PHONE_NUMBER: phoneNumber.optional(),
  ACS_TEAMS_RESOURCE_ACCOUNT_ID: guid.optional(),
  ACS_COGNITIVE_SERVICES_ENDPOINT: httpsUrl.optional(),
  ACS_RESOURCE_ID: guid.optional(),
  ACS_TOKEN_ISSUER: httpsOrLoopbackUrl.prefault(ACS_TOKEN_ISSUER),
  ACS_TOKEN_KEYS_URL: httpsOrLoopbackUrl.optional(),
  ...twilioSchemas,
  CALLBACK_BASE_URL: baseUrl.optional(),
  TEST_CALLBACK_BASE_URL: baseUrl.optional(),
  CALL_ATTEMPTS: integer(1, 10).prefault('3'),
  CALL_RETRY_SECONDS: integer(5, 3_600).prefault('60'),
  NOTIFICATION_DEADLINE_MINUTES: integer(1, 1_440).prefault('30'),
  CALL_RING_SECONDS: integer(15, 110).prefault('60'),
  PHONE_ALLOWED_PREFIXES: numberPrefixes.optional(),
  CALLS_PER_DAY: integer(1, 100_000).prefault('1000'),
  CALLS_AT_ONCE: integer(1, 100).prefault('2'),
  EVENT_TOPIC_ENDPOINT: httpsOrLoopbackUrl.optional(),
  EVENT_TOPIC_KEY: text.regex(/^\S{1,500}$/, 'must be the access key of the topic').optional(),
  OUTCOME_WEBHOOK_URL: httpsOrLoopbackUrl.optional(),
  OUTCOME_WEBHOOK_SECRET: webhookSecret.optional(),
  SWEEP_SCHEDULE: schedule.prefault('*/30 * * * * *'),
  CALL_RETENTION_DAYS: integer(2, 3_650).prefault('90'),
} as const;

type PhoneValues = Readonly<z.output<z.ZodObject<typeof phoneSchemas>>>;

/** The required settings that are missing, and settings that exclude each other. */
export const phoneProblems = (given: Given): readonly SettingProblem[] => {
  const isMissing = (name: string): boolean => given[name] === undefined;
  const topic =
    !isMissing('EVENT_TOPIC_KEY') && isMissing('EVENT_TOPIC_ENDPOINT')
      ? [{ setting: 'EVENT_TOPIC_ENDPOINT', detail: 'is required with EVENT_TOPIC_KEY' }]
      : [];
  const [url, secret] = WEBHOOK;
  const webhook = isMissing(url) === isMissing(secret) ? [] : [isMissing(url) ? url : secret];
  const outcomes = [
    ...topic,
    ...webhook.map((setting) => ({ setting, detail: `is required with ${setting === url ? secret : url}` })),
  ];
  if (given['PHONE'] === 'off') return outcomes;
  const provider = providerOf(given);
  const required =
    provider === 'acs' ? ['ACS_COGNITIVE_SERVICES_ENDPOINT', 'CALLBACK_BASE_URL'] : ['CALLBACK_BASE_URL'];
  return [
    ...(provider === undefined && isMissing('PHONE_PROVIDER')
      ? [
          {
            setting: 'PHONE_PROVIDER',
            detail: 'is required because ACS and Twilio are both configured: set acs or twilio',
          },
        ]
      : []),
    ...(provider === 'acs' ? [...oneOf(given, CONNECTION), ...oneOf(given, CALLER)] : []),
    ...(provider === 'twilio' ? twilioProblems(given) : []),
    ...required.filter(isMissing).map((setting) => ({ setting, detail: 'is required unless PHONE=off' })),
    ...outcomes,
  ];
};

/** The provider that places the calls: the named provider, otherwise the configured provider; undefined if both are configured. */
const providerOf = (given: Given): 'acs' | 'twilio' | undefined => {
  const named = given['PHONE_PROVIDER'];
  if (named !== undefined) return named === 'acs' || named === 'twilio' ? named : undefined;
  if (!isTwilioGiven(given)) return 'acs';
  return CONNECTION.some((name) => given[name] !== undefined) ? undefined : 'twilio';
};

const CONNECTION = ['ACS_CONNECTION_STRING', 'ACS_ENDPOINT'] as const;
const WEBHOOK = ['OUTCOME_WEBHOOK_URL', 'OUTCOME_WEBHOOK_SECRET'] as const;
const CALLER = ['ACS_SOURCE_PHONE_NUMBER', 'ACS_TEAMS_RESOURCE_ACCOUNT_ID'] as const;

/** The settings of the phone, with the settings of its provider. */
export type PhoneSettings = NonNullable<ReturnType<typeof phoneSettings>>;

/**
 * The settings of the phone; undefined if it is off.
 *
 * @throws {SettingsError} with its {@link phoneProblems}
 */
export const phoneSettings = (given: Given, value: PhoneValues) => {
  if (value.PHONE === 'off') return undefined;
  const { CALLBACK_BASE_URL: callbackBaseUrl, EVENT_TOPIC_ENDPOINT: endpoint } = value;
  const { OUTCOME_WEBHOOK_URL: url, OUTCOME_WEBHOOK_SECRET: secret } = value;
  const own = providerOf(given) === 'twilio' ? twilioSettings(value) : acsSettings(value);
  if (own === undefined || callbackBaseUrl === undefined) throw new SettingsError(phoneProblems(given));
  return {
    ...own,
    /** Base of the callback paths, without a slash at its end. */
    callbackBaseUrl,
    /** Debug builds: the base for test calls; undefined: the usual one. */
    testCallbackBaseUrl: value.TEST_CALLBACK_BASE_URL,
    attempts: value.CALL_ATTEMPTS,
    retryMs: value.CALL_RETRY_SECONDS * 1_000,
    deadlineMs: value.NOTIFICATION_DEADLINE_MINUTES * 60_000,
    /** Undefined: all numbers are allowed. */
    allowedPrefixes: value.PHONE_ALLOWED_PREFIXES,
    callsPerDay: value.CALLS_PER_DAY,
    callsAtOnce: value.CALLS_AT_ONCE,
    ringMs: value.CALL_RING_SECONDS * 1_000,
    /** Without a key, the app's identity is used. */
    topic: endpoint === undefined ? undefined : { endpoint, key: value.EVENT_TOPIC_KEY },
    webhook: url === undefined || secret === undefined ? undefined : { url, secret },
  };
};

/** How Communication Services is reached and how it calls. */
const acsSettings = (value: PhoneValues) => {
  const connection = connectionOf(value.ACS_CONNECTION_STRING, value.ACS_ENDPOINT);
  const { ACS_COGNITIVE_SERVICES_ENDPOINT: cognitiveServicesEndpoint, ACS_TOKEN_ISSUER: tokenIssuer } = value;
  if (connection === undefined || cognitiveServicesEndpoint === undefined) return undefined;
  const number = parsePhoneNumber(value.ACS_SOURCE_PHONE_NUMBER ?? '');
  const teamsResourceAccountId = value.ACS_TEAMS_RESOURCE_ACCOUNT_ID ?? '';
  return {
    connection,
    caller: number === undefined ? { teamsResourceAccountId } : { phoneNumber: number },
    cognitiveServicesEndpoint,
    /** The audience of callback tokens; undefined: callbacks are not verified. */
    resourceId: value.ACS_RESOURCE_ID,
    tokenIssuer,
    tokenKeysUrl: value.ACS_TOKEN_KEYS_URL ?? `${tokenIssuer.replace(/\/+$/, '')}/calling/keys`,
  };
};
