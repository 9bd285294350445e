import { Cron } from 'croner';

/** When a timer function runs. */
export interface Schedule {
  /** The first occurrence after an instant, both in milliseconds since 1970. */
  next(after: number): number;
  /** True where the schedule occurs more than once a minute in every minute. */
  readonly isSubMinute: boolean;
}

const MINUTE_MILLISECONDS = 60_000;

/** A field of numbers, lists, ranges and steps; a month or a weekday may be a name of three letters. Sunday is 0 only. */
const FIELDS: readonly RegExp[] = [
  ...Array.from({ length: 4 }, () => /^[\d*,/-]+$/),
  /^(?:[\d*,/-]|[a-z]{3})+$/i,
  /^(?:[0-6*,/-]|[a-z]{3})+$/i,
];

/**
 * Reads an NCRONTAB expression of six fields, `{second} {minute} {hour} {day} {month} {day of week}`, in UTC. What the cron library
 * takes but NCRONTAB does not, such as `L` and `W`, is an error: the schedule must mean the same in Azure.
 *
 * @throws {RangeError} where the text is no such expression or never occurs
 * @example parseSchedule('0 30 2 * * *').next(Date.now()) // 02:30 UTC, today or tomorrow
 */
export const parseSchedule = (text: string): Schedule => {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== FIELDS.length || !FIELDS.every((field, index) => field.test(fields[index] ?? ''))) {
    throw new RangeError(`"${text}" is not an NCRONTAB expression of six fields.`);
  }
  const cron = toCron(text, fields.join(' '));
  const next = (after: number): number => {
    const occurrence = cron.nextRun(new Date(after));
    if (occurrence === null) throw new RangeError(`"${text}" never occurs.`);
    return occurrence.getTime();
  };
  const first = next(Date.now());
  const isEveryMinute = fields.slice(1).every((field) => field === '*');
  return { next, isSubMinute: isEveryMinute && next(first) - first < MINUTE_MILLISECONDS };
};

const toCron = (text: string, expression: string): Cron => {
  try {
    // In NCRONTAB a day must match both its field and that of the weekday.
    return new Cron(expression, { mode: '6-part', timezone: 'UTC', domAndDow: true, paused: true });
  } catch (error) {
    throw new RangeError(`"${text}" is not an NCRONTAB expression of six fields.`, { cause: error });
  }
};
