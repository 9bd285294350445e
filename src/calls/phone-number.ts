/** A phone number in E.164 form: `+`, a country code, at most 15 digits in all. */
export type PhoneNumber = string & { readonly __brand: 'PhoneNumber' };

/** A phone number of which only the last four digits can be read; the form that logs and records hold. */
export type MaskedNumber = string & { readonly __brand: 'MaskedNumber' };

/** E.164, as the regular expression of the HTTP API's schemas. */
export const PHONE_NUMBER_PATTERN = /^\+[1-9]\d{6,14}$/;

const MASKED_NUMBER_PATTERN = /^\+\*{3,11}\d{4}$/;

const isPhoneNumber = (text: string): text is PhoneNumber => PHONE_NUMBER_PATTERN.test(text);

const isMaskedNumber = (text: string): text is MaskedNumber => MASKED_NUMBER_PATTERN.test(text);

/**
 * Text → phone number; undefined where it is not one. Spaces around it are dropped, others are not forgiven.
 *
 * @example parsePhoneNumber(' +12065550100 ') // '+12065550100'
 */
export const parsePhoneNumber = (text: string): PhoneNumber | undefined => {
  const trimmed = text.trim();
  return isPhoneNumber(trimmed) ? trimmed : undefined;
};

/**
 * A phone number for logs and records.
 *
 * @example maskPhoneNumber(number) // '+*******0100'
 */
export const maskPhoneNumber = (number: PhoneNumber): MaskedNumber => {
  const masked = `+${'*'.repeat(number.length - 5)}${number.slice(-4)}`;
  if (!isMaskedNumber(masked)) throw new TypeError('not a phone number');
  return masked;
};

/** Text that comes back from elsewhere → masked number; undefined where it is anything else. */
export const parseMaskedNumber = (text: string): MaskedNumber | undefined => (isMaskedNumber(text) ? text : undefined);
