import { validatePhoneNumberLength } from 'libphonenumber-js/min';

import type { PhoneNumber } from '../model/phone-number.ts';

/** Why a number is never called. */
export type NotCallable = 'impossible_number' | 'not_allowed';

/** The same in words. */
export const NOT_CALLABLE: Readonly<Record<NotCallable, string>> = {
  impossible_number: 'no number of this country has this length',
  not_allowed: 'this number may not be called: see PHONE_ALLOWED_PREFIXES',
};

/**
 * Why a number is never called; undefined if it may be.
 *
 * @param prefixes how the numbers begin that may be called; undefined: all
 */
export const whyNotCallable = (
  number: PhoneNumber,
  prefixes: readonly string[] | undefined,
): NotCallable | undefined => {
  const fault = validatePhoneNumberLength(number);
  // A number of a country that is not known may exist.
  if (fault !== undefined && fault !== 'INVALID_COUNTRY') return 'impossible_number';
  return (prefixes?.some((prefix) => number.startsWith(prefix)) ?? true) ? undefined : 'not_allowed';
};
