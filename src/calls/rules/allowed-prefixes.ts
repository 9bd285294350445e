import type { PhoneNumber } from '../model/phone-number.ts';

/** Why a number is not called. */
export const NOT_ALLOWED = 'this number may not be called: see PHONE_ALLOWED_PREFIXES';

/**
 * Whether a number may be called.
 *
 * @param prefixes how such numbers begin; undefined: all may be called
 */
export const isAllowed = (number: PhoneNumber, prefixes: readonly string[] | undefined): boolean =>
  prefixes?.some((prefix) => number.startsWith(prefix)) ?? true;
