import { formatInstant, parseInstant } from '../../../analytics/model/instant.ts';
import { isCalendarDay, type ClockOf } from './times.ts';

/** How many hours a live range has. */
export const LIVE_HOURS = [1, 6, 24] as const;

/** How many days, until today, a range has that moves with the day. */
export const LIVE_DAYS = [7, 30] as const;

/** Which time the page shows. */
export type Span =
  /** The current day, whichever that is: at midnight the page goes on to the next one. */
  | { readonly kind: 'today' }
  /** One day of the clock that is shown, `YYYY-MM-DD`. */
  | { readonly kind: 'day'; readonly date: string }
  /** Both ends included; as {@link addressTime} writes them. */
  | { readonly kind: 'range'; readonly start: string; readonly end: string }
  /** The hours until the current minute. */
  | { readonly kind: 'last'; readonly hours: (typeof LIVE_HOURS)[number] }
  /** The current day and those before it: at midnight they move on. */
  | { readonly kind: 'days'; readonly days: (typeof LIVE_DAYS)[number] };

/** Everything that the address says about what is shown. */
export interface View {
  readonly span: Span;
  /** All cameras where it is undefined. */
  readonly cameraId: string | undefined;
  /** What the cameras are ordered by: `total_events` and so on, or a category. */
  readonly orderBy: string;
  /** The notification that is open. */
  readonly notification: string | undefined;
  readonly clock: ClockOf;
}

/** The order of the cameras where none is chosen. */
const DEFAULT_ORDER = 'fire';

/** Today, all cameras, local time. */
export const FIRST_VIEW: View = {
  span: { kind: 'today' },
  cameraId: undefined,
  orderBy: DEFAULT_ORDER,
  notification: undefined,
  clock: 'local',
};

/** What an address says, and what of it could not be understood, in words. */
export interface ReadView {
  readonly view: View;
  readonly problems: readonly string[];
}

/** A time as the address and the questions carry it: `2026-11-21T08:00:00Z`. Understands what the service does; undefined where it is none. */
export const addressTime = (text: string): string | undefined => {
  // A + that was not escaped arrives as a space.
  const instant = parseInstant(text.trim().replace(/ (?=\d{2}(?::?\d{2})?$)/, '+'));
  return instant === undefined ? undefined : formatInstant(instant).replace('+00:00', 'Z');
};

const KNOWN = new Set('date ts_utc_start ts_utc_end last camera_id order_by notification tz'.split(' '));

/**
 * The view that an address asks for. Everything that is wrong with it is told, never taken for another view in silence.
 *
 * @param search the address's query, with or without its question mark
 */
export const readView = (search: string): ReadView => {
  const parameters = new URLSearchParams(search);
  const problems: string[] = [];
  for (const name of new Set(parameters.keys())) {
    if (!KNOWN.has(name)) problems.push(`${name.slice(0, 40)} is no parameter of this page.`);
    else if (parameters.getAll(name).length > 1)
      problems.push(`${name} is given more than once: the first one counts.`);
  }
  const span = readSpan(parameters, problems);
  /** A text that may be anything but empty. */
  const text = (name: string, otherwise: string): string | undefined => {
    const value = parameters.get(name);
    if (value === '') problems.push(`${name} is empty: ${otherwise}.`);
    return value || undefined;
  };
  const tz = parameters.get('tz') ?? 'local';
  if (tz !== 'utc' && tz !== 'local') problems.push('tz must be utc or local: times are local.');
  const view: View = {
    span,
    cameraId: text('camera_id', 'all cameras are shown'),
    orderBy: text('order_by', `the cameras are ordered by ${DEFAULT_ORDER}`) ?? DEFAULT_ORDER,
    notification: text('notification', 'none is open'),
    clock: tz === 'utc' ? 'utc' : 'local',
  };
  return { view, problems };
};

const readSpan = (parameters: URLSearchParams, problems: string[]): Span => {
  const [date, last] = [parameters.get('date'), parameters.get('last')];
  const [from, to] = [parameters.get('ts_utc_start'), parameters.get('ts_utc_end')];
  const asked: Span[] = [];
  if (from !== null || to !== null) {
    const [start, end] = [addressTime(from ?? ''), addressTime(to ?? '')];
    if (from === null || to === null) problems.push('A range needs both ts_utc_start and ts_utc_end.');
    else if (start === undefined || end === undefined) {
      problems.push('ts_utc_start and ts_utc_end must be times such as 2026-11-21T08:00:00Z.');
    } else asked.push({ kind: 'range', start, end });
  }
  if (date !== null) {
    if (isCalendarDay(date)) asked.push({ kind: 'day', date });
    else problems.push('date must be a day that exists, such as 2026-11-21.');
  }
  if (last !== null) {
    const hours = LIVE_HOURS.find((each) => `${each}h` === last);
    const days = LIVE_DAYS.find((each) => `${each}d` === last);
    if (hours !== undefined) asked.push({ kind: 'last', hours });
    else if (days !== undefined) asked.push({ kind: 'days', days });
    else problems.push('last must be 1h, 6h, 24h, 7d or 30d.');
  }
  const [span] = asked;
  const isGiven = [date, last, from, to].some((value) => value !== null);
  if (span === undefined && isGiven) problems.push('Today is shown.');
  if (asked.length > 1) problems.push(`The address names more than one time: the ${span?.kind ?? ''} is shown.`);
  return span ?? FIRST_VIEW.span;
};

/** The query of a view's address, `?date=2026-11-21&camera_id=ridge-04`; empty for {@link FIRST_VIEW}. {@link readView} reads it. */
export const viewSearch = ({ span, cameraId, orderBy, notification, clock }: View): string => {
  const parameters = new URLSearchParams();
  if (span.kind === 'day') parameters.set('date', span.date);
  if (span.kind === 'range') {
    parameters.set('ts_utc_start', span.start);
    parameters.set('ts_utc_end', span.end);
  }
  if (span.kind === 'last') parameters.set('last', `${span.hours}h`);
  if (span.kind === 'days') parameters.set('last', `${span.days}d`);
  if (cameraId !== undefined) parameters.set('camera_id', cameraId);
  if (orderBy !== DEFAULT_ORDER) parameters.set('order_by', orderBy);
  if (notification !== undefined) parameters.set('notification', notification);
  if (clock === 'utc') parameters.set('tz', 'utc');
  // A colon may stand in a query as it is, and reads better.
  const text = parameters.toString().replaceAll('%3A', ':');
  return text === '' ? '' : `?${text}`;
};

/** What other pages of the Functions host take a key from. */
const KEY_PARAMETERS: ReadonlySet<string> = new Set(['code', 'clientid']);

/** An address's query without a key that somebody put into it: there it would be bookmarked and shared. */
export const withoutKey = (search: string): string => {
  const parameters = new URLSearchParams(search);
  const keys = [...new Set(parameters.keys())].filter((name) => KEY_PARAMETERS.has(name.toLowerCase()));
  if (keys.length === 0) return search;
  for (const name of keys) parameters.delete(name);
  return parameters.size === 0 ? '' : `?${parameters}`;
};
