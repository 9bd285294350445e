declare const instantBrand: unique symbol;

/** Microseconds since 1970-01-01T00:00:00Z, in the years 0001 to 9999. `Date` keeps only milliseconds. */
export type Instant = bigint & { readonly [instantBrand]: true };

const FIRST = -62_135_596_800_000_000n;
const LAST = 253_402_300_799_999_999n;

/** Whether a count of microseconds since 1970 (UTC) is in the years 0001 to 9999. */
export const isInstant = (microseconds: bigint): microseconds is Instant =>
  microseconds >= FIRST && microseconds <= LAST;

/** Microseconds since 1970 (UTC) → instant. @throws {RangeError} outside the years 0001 to 9999 */
export const instantFrom = (microseconds: bigint): Instant => {
  if (!isInstant(microseconds)) throw new RangeError('an instant must be in the years 0001 to 9999');
  return microseconds;
};

/** Milliseconds since 1970 (UTC), as `Date.now()` gives them → instant. */
export const instantFromMilliseconds = (milliseconds: number): Instant =>
  instantFrom(BigInt(Math.trunc(milliseconds)) * 1_000n);

/** Now, by the clock of this process. */
export const now = (): Instant => instantFromMilliseconds(Date.now());

const FORM =
  /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:[0-5]\d:[0-5]\d)(?:\.(\d{1,12}))?(Z|z|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?$/;

/**
 * An ISO 8601 date and time → instant. Digits after the microsecond are ignored; a time without an offset is UTC.
 *
 * @returns undefined if the text has another form, or the day or the hour does not exist
 * @example parseInstant('2026-11-21T08:00:00.123456Z')
 */
export const parseInstant = (text: string): Instant | undefined => {
  const [, date, time, fraction = '', , hours, minutes = '00'] = FORM.exec(text) ?? [];
  if (date === undefined || time === undefined || time >= '24') return undefined;
  // `Date` reads 30 February as a day in March.
  const day = Number(date.slice(8));
  if (day > 28 && new Date(`${date}T00:00:00Z`).getUTCDate() !== day) return undefined;
  const milliseconds = Date.parse(`${date}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`);
  if (Number.isNaN(milliseconds)) return undefined;
  const microseconds = BigInt(milliseconds) * 1_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
  return isInstant(microseconds) ? microseconds : undefined;
};

/** Whether a time has an offset from UTC (or `Z`). RFC 3339, and so the `time` of a CloudEvent, requires one. */
export const hasOffset = (text: string): boolean => FORM.exec(text)?.[4] !== undefined;

/** The second that was formatted last: the frames of a batch share it, and formatting it is a tenth of recording an event. */
let latest = { second: 0n, text: '1970-01-01T00:00:00' };

/** The whole seconds (`2026-11-21T08:00:00`) and the microseconds after them. */
const split = (instant: Instant): [seconds: string, microseconds: bigint] => {
  const remainder = instant % 1_000_000n;
  const microseconds = remainder < 0n ? remainder + 1_000_000n : remainder;
  const second = instant - microseconds;
  if (second !== latest.second) {
    latest = { second, text: new Date(Number(second / 1_000n)).toISOString().slice(0, 19) };
  }
  return [latest.text, microseconds];
};

/**
 * The form used in answers: with an offset, and with a fraction (six digits) only if it is not zero.
 *
 * @example formatInstant(…) // 2026-11-21T00:00:00+00:00, 2026-11-21T23:59:59.999999+00:00
 */
export const formatInstant = (instant: Instant): string => {
  const [seconds, microseconds] = split(instant);
  return microseconds === 0n ? `${seconds}+00:00` : `${seconds}.${String(microseconds).padStart(6, '0')}+00:00`;
};

/** The form used in rows: always 27 characters, so that texts sort in the order of time. */
export const sortableInstant = (instant: Instant): string => {
  const [seconds, microseconds] = split(instant);
  return `${seconds}.${String(microseconds).padStart(6, '0')}Z`;
};
