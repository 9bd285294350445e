import { validatePhoneNumberLength } from 'libphonenumber-js/min';

import type { PhoneNumber } from '../model/phone-number.ts';

/** Why a number is not called. */
export const IMPOSSIBLE = 'no number of this country has this length';

/** Whether a number may exist by the lengths that numbers of its country have. One of a country that is not known may. */
export const isPossible = (number: PhoneNumber): boolean => {
  const fault = validatePhoneNumberLength(number);
  return fault === undefined || fault === 'INVALID_COUNTRY';
};
