import { DAY_MS, type Step, STEP_MS } from './steps.ts';

/** `40 s`, `4 min`, `9 h`, `3 days` */
export const lengthText = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
};

/** `4 min ago` */
export const agoText = (milliseconds: number): string => `${lengthText(milliseconds)} ago`;

/** `in 40 s`; `now` for a past time. */
export const inText = (milliseconds: number): string =>
  milliseconds < 1_000 ? 'now' : `in ${lengthText(milliseconds)}`;

export type ClockOf = 'local' | 'utc';

/** `other`: the same time in the other zone, for a title; undefined if the reader's zone is UTC. */
export interface TimeText {
  readonly text: string;
  readonly other: string | undefined;
}

/** `YYYY-MM-DD`, of milliseconds since 1970. */
export const utcDayOf = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

/** Whether a `YYYY-MM-DD` exists, in the years 1000 to 9998. */
export const isCalendarDay = (text: string): boolean => {
  if (!/^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) || text >= '9999') return false;
  const start = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(start) && utcDayOf(start) === text;
};

/** @example shiftDay('2026-11-21', -1) // '2026-11-20' */
export const shiftDay = (day: string, days: number): string => utcDayOf(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);

export const daysBetween = (first: string, last: string): number =>
  Math.round((Date.parse(`${last}T00:00:00Z`) - Date.parse(`${first}T00:00:00Z`)) / DAY_MS);

/** A whole second (milliseconds since 1970), as in the address. */
export const startText = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

/** The last microsecond before a whole second, as in the address. */
export const endText = (milliseconds: number): string => startText(milliseconds - 1_000).replace('Z', '.999999Z');

const isUtcName = (zone: string): boolean => /^((Etc\/)?(UTC|GMT|UCT|Zulu|Universal|Greenwich))$/i.test(zone);

/** The reader's zone; UTC if the browser names a zone that it does not know itself (`Etc/Unknown`). */
const readerZone = (): string => {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return 'UTC';
    throw error;
  }
};

const two = '2-digit';
const WALL = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const;

/** Reads a time as if its clock showed UTC. */
const asUtc = (wall: string): number => Date.parse(`${wall.replace(' ', 'T')}Z`);

class ZoneClock {
  readonly #wall: Intl.DateTimeFormat;
  readonly #name: Intl.DateTimeFormat;
  readonly zone: string;

  constructor(zone: string) {
    this.zone = zone;
    // Swedish writes dates and times as ISO 8601 does.
    this.#wall = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, hourCycle: 'h23', ...WALL });
    // Americans name their zones (PST); elsewhere it is GMT+1.
    this.#name = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'short' });
  }

  /** `2026-11-21 08:00:02` */
  wall(milliseconds: number): string {
    // The day before the year 1000 has a year of three digits.
    return this.#wall.format(milliseconds).padStart(19, '0');
  }

  /** `PST` */
  name(milliseconds: number): string {
    const parts = this.#name.formatToParts(milliseconds);
    return parts.find(({ type }) => type === 'timeZoneName')?.value ?? this.zone;
  }

  /**
   * When the clocks show a time, written as {@link wall} does. Autumn repeats an hour: it has two instants. Spring skips an hour: its times
   * are read as before the change.
   */
  instants(text: string): { readonly first: number; readonly last: number } {
    const wanted = asUtc(text);
    const [before = wanted, after = wanted] = [wanted - DAY_MS, wanted + DAY_MS].map(
      (near) => wanted - (asUtc(this.wall(near)) - near),
    );
    const shown = [before, after].filter((instant) => this.wall(instant) === text);
    if (shown.length === 0) return { first: before, last: before };
    return { first: Math.min(...shown), last: Math.max(...shown) };
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const LONG_DAY = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
});

/** `2026-11-21` → `21 Nov` */
export const shortDay = (day: string): string =>
  `${Number(day.slice(8, 10))} ${MONTHS[Number(day.slice(5, 7)) - 1] ?? ''}`;

/** `2026-11-21` → `Saturday 21 November 2026` */
export const longDay = (day: string): string => LONG_DAY.format(Date.parse(`${day}T00:00:00Z`)).replace(',', '');

/** Formats times in the reader's zone or UTC, with the other zone for titles. */
export class Times extends ZoneClock {
  readonly #other: ZoneClock | undefined;
  readonly readerZone: string;
  readonly isUtc: boolean;

  constructor(of: ClockOf, zone = readerZone()) {
    const own = isUtcName(zone) ? 'UTC' : zone;
    super(of === 'utc' ? 'UTC' : own);
    this.readerZone = own;
    this.isUtc = this.zone === 'UTC';
    this.#other = own === 'UTC' ? undefined : new ZoneClock(this.isUtc ? own : 'UTC');
  }

  /** `21 Nov 04:00:02 PST` */
  moment(milliseconds: number): TimeText {
    return this.#both((clock) => {
      const wall = clock.wall(milliseconds);
      return `${shortDay(wall)} ${wall.slice(11)} ${clock.name(milliseconds)}`;
    });
  }

  /** `04:00:02 PST` */
  clock(milliseconds: number): TimeText {
    return this.#both((clock) => `${clock.wall(milliseconds).slice(11)} ${clock.name(milliseconds)}`);
  }

  /** `21 Nov 04:00–05:00 PST`; `1 Nov 01:30 PDT–01:00 PST`; `21 Nov UTC`, because a series counts UTC days. */
  step(start: number, step: Step): TimeText {
    if (step === 'day') return { text: `${shortDay(utcDayOf(start))} UTC`, other: undefined };
    return this.#both((clock) => {
      const end = start + STEP_MS[step];
      const [from, until] = [clock.wall(start), clock.wall(end).slice(11, 16)];
      const [zone, zoneAfter] = [clock.name(start), clock.name(end)];
      const change = zone === zoneAfter ? '' : ` ${zone}`;
      return `${shortDay(from)} ${from.slice(11, 16)}${change}–${until} ${zoneAfter}`;
    });
  }

  #both(say: (clock: ZoneClock) => string): TimeText {
    return { text: say(this), other: this.#other && say(this.#other) };
  }

  dayOf(milliseconds: number): string {
    return this.wall(milliseconds).slice(0, 10);
  }

  /** A day may have 23 or 25 hours. */
  startOfDay(day: string): number {
    return this.instants(`${day} 00:00:00`).first;
  }

  /** The text of a `datetime-local` field (`2026-11-21T08:00`), as in the address; an end includes its second. */
  typed(text: string, end: 'from' | 'until'): string | undefined {
    const [, day = '', minute = '', seconds = ':00'] = /^([\d-]{10})T(\d\d:\d\d)(:\d\d)?/.exec(text) ?? [];
    if (!isCalendarDay(day)) return undefined;
    const { first, last } = this.instants(`${day} ${minute}${seconds}`);
    return end === 'from' ? startText(first) : endText(last + 1_000);
  }
}
