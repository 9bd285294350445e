import { parsePhoneNumberFromString, validatePhoneNumberLength } from 'libphonenumber-js/min';
import * as z from 'zod';

/** A phone number in E.164 form: `+`, a country code, at most 15 digits in all. */
export type PhoneNumber = string & { readonly __brand: 'PhoneNumber' };

/** A phone number with most of its digits hidden: the form in logs, answers and the rows of settled notifications. */
export type MaskedNumber = string & { readonly __brand: 'MaskedNumber' };

/** E.164. The HTTP API's schemas use it too. */
export const PHONE_NUMBER_PATTERN = /^\+[1-9]\d{6,14}$/;

/** The form of a masked number. */
export const MASKED_NUMBER_PATTERN = /^\+\d{0,4}•{5,9}\d{2}$/;

// At least five digits stay hidden, however short the number is.
const SHOWN_AT_START = 4;
const SHOWN_AT_END = 2;
const MIN_HIDDEN = 5;

const isPhoneNumber = (text: string): text is PhoneNumber => PHONE_NUMBER_PATTERN.test(text);

/** Whether a value from elsewhere is a masked number. */
export const isMaskedNumber = (value: unknown): value is MaskedNumber =>
  typeof value === 'string' && MASKED_NUMBER_PATTERN.test(value);

/**
 * Text → phone number; undefined if it is not a phone number. White space around it is dropped.
 *
 * @example parsePhoneNumber(' +12065550100 ') // '+12065550100'
 */
export const parsePhoneNumber = (text: string): PhoneNumber | undefined => {
  const trimmed = text.trim();
  return isPhoneNumber(trimmed) ? trimmed : undefined;
};

/**
 * Whether the telephone network may know a number. A number of an unknown country is possible.
 *
 * @example isPossible('+442071234567') // true
 * @example isPossible('+4402071234567') // false: the 0 is dialed only within the country
 */
export const isPossible = (number: PhoneNumber): boolean => {
  const fault = validatePhoneNumberLength(number);
  if (fault !== undefined) return fault === 'INVALID_COUNTRY';
  // The library drops a trunk prefix, and the network does not. An Italian number keeps its 0, because the 0 is a part of it.
  const parsed = parsePhoneNumberFromString(number);
  return parsed === undefined || parsed.number.length >= number.length;
};

export const phoneNumberSchema = z.custom<PhoneNumber>((value) => typeof value === 'string' && isPhoneNumber(value));

export const maskedNumberSchema = z.custom<MaskedNumber>(isMaskedNumber);

/**
 * A phone number for logs and answers. A masked number stays as it is.
 *
 * @example maskPhoneNumber(number) // '+1206•••••00'
 */
export const maskPhoneNumber = (number: PhoneNumber | MaskedNumber): MaskedNumber => {
  const digits = number.slice(1);
  const start = Math.min(SHOWN_AT_START, digits.length - SHOWN_AT_END - MIN_HIDDEN);
  const hidden = digits.length - start - SHOWN_AT_END;
  const masked = `+${digits.slice(0, start)}${'•'.repeat(hidden)}${digits.slice(-SHOWN_AT_END)}`;
  if (!isMaskedNumber(masked)) throw new TypeError('not a phone number');
  return masked;
};
