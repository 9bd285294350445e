import * as z from 'zod';

import { CATEGORY_FORM, MAX_CAMERA_CATEGORIES } from '../analytics/model/camera-event.ts';
import { PHONE_NUMBER_PATTERN } from '../calls/model/phone-number.ts';

/** Any text; required unless it is made optional. */
export const text = z.string({ error: 'is required' });

/** An integer; both bounds are included. */
export const integer = (min: number, max: number) => {
  const rule = `must be an integer from ${min} to ${max}`;
  return text
    .regex(/^\d{1,9}$/, rule)
    .transform(Number)
    .refine((value) => value >= min && value <= max, rule);
};

/** A phone number in E.164 form. */
export const phoneNumber = text.regex(PHONE_NUMBER_PATTERN, 'must be a phone number in E.164 form');

/** The items between commas, each once. */
const list = text.transform((value) => [...new Set(value.split(',').map((one) => one.trim()))]);

/** Comma-separated names of categories; repeated ones count once. */
export const categoryList = list.refine(
  (names) => names.length <= MAX_CAMERA_CATEGORIES && names.every((name) => CATEGORY_FORM.test(name)),
  `must be 1 to ${MAX_CAMERA_CATEGORIES} comma-separated categories, each a letter and up to 63 letters, digits, _ or -`,
);

/** An https URL. */
export const httpsUrl = text.refine((value) => URL.parse(value)?.protocol === 'https:', 'must be an https URL');

/** The host of a URL that is this machine itself. */
export const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether text is an https URL, or an http URL of this machine itself. */
export const isHttpsOrLoopback = (value: string): boolean => {
  const url = URL.parse(value);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK_HOST.test(url.hostname));
};

/** An https URL; http for loopback addresses only. */
export const httpsOrLoopbackUrl = text.refine(
  isHttpsOrLoopback,
  'must be an https URL (http is accepted for loopback addresses only)',
);

/** The URL of a container of Blob Storage, with a shared access signature or without. */
export const containerUrl = httpsOrLoopbackUrl.refine(
  // The rule above has refused a value that is not a URL.
  (value) => /^\/[^/]+(?:\/[^/]+)?$/.test(URL.parse(value)?.pathname ?? '/container'),
  'must be the URL of a container',
);

const canBeExtended = (value: string): boolean => {
  const url = URL.parse(value);
  return url === null || `${url.search}${url.hash}${url.username}${url.password}` === '';
};

/** The message of a call request to Twilio holds two addresses below `CALLBACK_BASE_URL`, escaped, and must not exceed 4,000 characters. */
const BASE = /^[^&<>"']{1,500}$/;

/** A URL that paths are appended to; read without slashes at its end. */
export const baseUrl = httpsOrLoopbackUrl
  .refine(canBeExtended, 'must have no query, fragment or credentials')
  .refine((value) => BASE.test(value), 'must have at most 500 characters, and must not contain & < > " or \'')
  .transform((value) => value.replace(/\/+$/, ''));

const PREFIX = /^\+[1-9]\d{0,14}$/;

/** Comma-separated beginnings of phone numbers. A bare `+` would be all numbers. */
export const numberPrefixes = list.refine(
  (prefixes) => prefixes.every((prefix) => PREFIX.test(prefix)),
  'must be comma-separated phone number prefixes, such as +1,+64',
);

const CRON_FIELD = String.raw`(?:\*|(?:\d+|[A-Za-z]{3})(?:-(?:\d+|[A-Za-z]{3}))?)(?:\/\d+)?`;
const CRON_LIST = `${CRON_FIELD}(?:,${CRON_FIELD})*`;

const CRON = new RegExp(`^${CRON_LIST}(?: +${CRON_LIST}){5}$`);
/** The lowest and the highest number of each field: second, minute, hour, day, month, weekday. */
const CRON_BOUNDS = [
  [0, 59],
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;

const isInBounds = (value: string): boolean => {
  const fields = value.split(/ +/);
  return CRON_BOUNDS.every(([lowest, highest], index) =>
    (fields[index]?.replace(/\/\d+/g, '').match(/\d+/g) ?? []).every(
      (number) => Number(number) >= lowest && Number(number) <= highest,
    ),
  );
};

/** When a timer function runs: NCRONTAB, six fields that begin with the seconds. With another form, the host would not start the timer. */
export const schedule = text.refine(
  (value) => CRON.test(value) && isInBounds(value),
  'must be an NCRONTAB expression of six fields, such as */30 * * * * *',
);

/** A GUID. */
export const guid = text.regex(/^[\dA-Fa-f]{8}(-[\dA-Fa-f]{4}){3}-[\dA-Fa-f]{12}$/, 'must be a GUID');

const WEBHOOK_PREFIX = 'whsec_';

/** The secret of a Standard Webhook: a key of 24 to 64 bytes. */
export const webhookSecret = text.refine((value) => {
  const key = Buffer.from(value.slice(WEBHOOK_PREFIX.length), 'base64');
  return value === `${WEBHOOK_PREFIX}${key.toString('base64')}` && key.length >= 24 && key.length <= 64;
}, 'must be whsec_ and a key of 24 to 64 bytes in Base64');
