/** A day has this many milliseconds: UTC days have no daylight saving time. */
export const DAY_MILLISECONDS = 86_400_000;

/** The UTC day of an instant (milliseconds since 1970), `YYYY-MM-DD`. */
export const dayOfTime = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

/** Whether a text is a day that exists, `YYYY-MM-DD`, in the years 0001 to 9999. */
export const isCalendarDay = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < '0001') return false;
  const start = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(start) && dayOfTime(start) === text;
};

/**
 * The day some days later (negative: earlier); the same day where that would leave the years 0001 to 9999.
 *
 * @example shiftDay('2026-11-21', -1) // '2026-11-20'
 */
export const shiftDay = (day: string, days: number): string => {
  const shifted = dayOfTime(Date.parse(`${day}T00:00:00Z`) + days * DAY_MILLISECONDS);
  return isCalendarDay(shifted) ? shifted : day;
};
