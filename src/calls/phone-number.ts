/** A phone number in E.164 form: `+`, a country code, at most 15 digits in all. */
export type PhoneNumber = string & { readonly __brand: 'PhoneNumber' };

/** A phone number with all but its last four digits hidden: the form in logs and records. */
export type MaskedNumber = string & { readonly __brand: 'MaskedNumber' };

/** E.164. The HTTP API's schemas use it too. */
export const PHONE_NUMBER_PATTERN = /^\+[1-9]\d{6,14}$/;

const MASKED_NUMBER_PATTERN = /^\+\*{3,11}\d{4}$/;

const isPhoneNumber = (text: string): text is PhoneNumber => PHONE_NUMBER_PATTERN.test(text);

/** Whether a value from elsewhere is a masked number. */
export const isMaskedNumber = (value: unknown): value is MaskedNumber =>
  typeof value === 'string' && MASKED_NUMBER_PATTERN.test(value);

/**
 * Text → phone number; undefined where it is not one. White space around it is dropped.
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
