import * as z from 'zod';

/** A time in a row: stored as a date, so that a storage browser shows it as one; milliseconds since 1970 in the program. */
export const storedTime = z.codec(z.date(), z.number(), {
  decode: (date) => date.getTime(),
  encode: (ms) => new Date(ms),
});
