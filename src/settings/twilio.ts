import type * as z from 'zod';

import { parsePhoneNumber } from '../calls/model/phone-number.ts';
import { baseUrl, phoneNumber, text, integer } from './rules.ts';
import type { Given, SettingProblem } from './settings-error.ts';

const sid = (prefix: string) =>
  text.regex(new RegExp(`^${prefix}[0-9A-Fa-f]{32}$`), `must be ${prefix} and 32 hexadecimal digits`);
// If Azure cannot resolve a key vault reference, the app gets the text of the reference.
const secret = text.regex(
  /^(?!@Microsoft\.KeyVault)[\x21-\x7E]{1,200}$/,
  'must be the secret itself, without spaces, and not a Key Vault reference that Azure did not resolve',
);

/** The settings of Twilio by their environment names; required settings are demanded by {@link twilioProblems}. */
export const twilioSchemas = {
  TWILIO_ACCOUNT_SID: sid('AC').optional(),
  TWILIO_API_KEY_SID: sid('SK').optional(),
  TWILIO_API_KEY_SECRET: secret.optional(),
  TWILIO_AUTH_TOKEN: secret.optional(),
  TWILIO_SECONDARY_AUTH_TOKEN: secret.optional(),
  TWILIO_SOURCE_PHONE_NUMBER: phoneNumber.optional(),
  TWILIO_CALLS_PER_SECOND: integer(1, 100).prefault('1'),
  TWILIO_VOICE: text
    .regex(/^[A-Za-z][\w.-]{0,59}$/, 'must be the name of a voice, such as Polly.Joanna')
    .prefault('Polly.Joanna'),
  TWILIO_API_BASE_URL: baseUrl.prefault('https://api.twilio.com'),
} as const;

/** Calls need these settings; any of them says that Twilio is configured. */
const REQUIRED = [
  'TWILIO_ACCOUNT_SID',
  'TWILIO_API_KEY_SID',
  'TWILIO_API_KEY_SECRET',
  'TWILIO_AUTH_TOKEN',
  'TWILIO_SOURCE_PHONE_NUMBER',
] as const;

/** Whether anything of Twilio is configured. */
export const isTwilioGiven = (given: Given): boolean => REQUIRED.some((name) => given[name] !== undefined);

/** The required settings of Twilio that are missing. */
export const twilioProblems = (given: Given): readonly SettingProblem[] =>
  REQUIRED.filter((name) => given[name] === undefined).map((setting) => ({
    setting,
    detail: 'is required unless PHONE=off',
  }));

/** How Twilio is reached and how it calls; undefined if a setting is missing that {@link twilioProblems} names. */
export const twilioSettings = (value: z.output<z.ZodObject<typeof twilioSchemas>>) => {
  const { TWILIO_ACCOUNT_SID: accountSid, TWILIO_API_KEY_SID: apiKeySid, TWILIO_API_KEY_SECRET: apiKeySecret } = value;
  const { TWILIO_AUTH_TOKEN: authToken, TWILIO_SECONDARY_AUTH_TOKEN: second } = value;
  const source = parsePhoneNumber(value.TWILIO_SOURCE_PHONE_NUMBER ?? '');
  if (accountSid === undefined || apiKeySid === undefined || apiKeySecret === undefined) return undefined;
  if (authToken === undefined || source === undefined) return undefined;
  const twilio = {
    accountSid,
    apiKeySid,
    apiKeySecret,
    /** Both sign callbacks while tokens are rotated. */
    authTokens: [authToken, ...(second === undefined ? [] : [second])],
    source,
    callsPerSecond: value.TWILIO_CALLS_PER_SECOND,
    voice: value.TWILIO_VOICE,
    /** Without a slash at its end. */
    apiBaseUrl: value.TWILIO_API_BASE_URL,
  };
  return { twilio };
};
