import { type SeriesStep, STEP_MILLISECONDS } from './series-step.ts';

/** Times in UTC, and in the reader's own time zone beside them. */
export interface TimeTexts {
  /** The reader's zone: `Europe/Madrid`; `UTC` where it is that. */
  readonly zone: string;
  /** `2026-11-21 08:00:02 UTC`; the fraction where there is one. */
  utc(time: string): string;
  /** The same in the reader's zone, `21 Nov, 09:00:02`; undefined where that zone is UTC. */
  own(time: string): string | undefined;
  /** `08:00:02` */
  utcClock(milliseconds: number): string;
  /** The same in the reader's zone; undefined where that is UTC. */
  ownClock(milliseconds: number): string | undefined;
  /** `Saturday 21 November 2026` */
  longDay(day: string): string;
  /** One step of a series: `21 Nov 08:00–09:00`, `21 Nov`. */
  step(startSeconds: number, step: SeriesStep): string;
  /** The same step in the reader's zone; undefined for days, and where the zone is UTC. */
  ownStep(startSeconds: number, step: SeriesStep): string | undefined;
  /** A mark of a plot's axis: `08:00`; at midnight the day. */
  mark(seconds: number): string;
}

/** English, as the rest of the page; days before months and hours to 23, which are read the same everywhere. */
const format = (timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', ...options });

/** The reader's own zone; UTC where the browser knows none, or names one that it does not know itself (`Etc/Unknown`). */
const readerZone = (): string => {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return 'UTC';
    throw error;
  }
};

const stepIn = (
  startSeconds: number,
  step: SeriesStep,
  [day, time]: readonly [Intl.DateTimeFormat, Intl.DateTimeFormat],
): string => {
  const start = startSeconds * 1_000;
  if (step === 'day') return day.format(start);
  return `${day.format(start)} ${time.format(start)}–${time.format(start + STEP_MILLISECONDS[step])}`;
};

/**
 * @param zone an IANA time zone; the reader's own where it is not given
 * @example timeTexts('Europe/Madrid').own('2026-11-21T08:00:00+00:00') // '21 Nov, 09:00:00'
 */
export const timeTexts = (zone = readerZone()): TimeTexts => {
  const isUtc = /^(UTC|GMT|Etc\/(UTC|GMT|UCT|Zulu|Universal|Greenwich)|Zulu|UCT)$/i.test(zone);
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
  const minute = { hour: '2-digit', minute: '2-digit' } as const;
  const dayMonth = { day: 'numeric', month: 'short' } as const;

  const utcClock = format('UTC', clock);
  const utcMinute = format('UTC', minute);
  const utcDay = format('UTC', dayMonth);
  const longDay = format('UTC', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
  const ownClock = format(zone, clock);
  const ownMinute = format(zone, minute);
  const ownDay = format(zone, dayMonth);

  return {
    zone: isUtc ? 'UTC' : zone,
    utc: (time) => {
      const [, date = '', seconds = '', fraction = ''] =
        /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|\+00:00)$/.exec(time) ?? [];
      return date === '' ? time : `${date} ${seconds}${fraction} UTC`;
    },
    own: (time) => {
      const instant = Date.parse(time);
      if (isUtc || Number.isNaN(instant)) return undefined;
      return `${ownDay.format(instant)}, ${ownClock.format(instant)}`;
    },
    utcClock: (milliseconds) => utcClock.format(milliseconds),
    ownClock: (milliseconds) => (isUtc ? undefined : ownClock.format(milliseconds)),
    longDay: (day) => longDay.format(Date.parse(`${day}T00:00:00Z`)).replace(',', ''),
    step: (startSeconds, step) => stepIn(startSeconds, step, [utcDay, utcMinute]),
    ownStep: (startSeconds, step) =>
      isUtc || step === 'day' ? undefined : stepIn(startSeconds, step, [ownDay, ownMinute]),
    mark: (seconds) =>
      (seconds * 1_000) % STEP_MILLISECONDS.day === 0
        ? utcDay.format(seconds * 1_000)
        : utcMinute.format(seconds * 1_000),
  };
};
