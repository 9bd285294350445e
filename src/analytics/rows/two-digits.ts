/** A number from 0 to 99 as row keys, property names and clock times write it: `07`. */
export const twoDigits = (value: number): string => String(value).padStart(2, '0');
