import { formatInstant, parseInstant } from '../../../analytics/model/instant.ts';
import { isCalendarDay } from './calendar-day.ts';

/** Which time the page shows. */
export type Span =
  /** The current UTC day, whichever that is: at midnight the page goes on to the next one. */
  | { readonly kind: 'today' }
  /** One UTC day, `YYYY-MM-DD`. */
  | { readonly kind: 'day'; readonly date: string }
  /** Both ends included; as {@link addressTime} writes them. */
  | { readonly kind: 'range'; readonly start: string; readonly end: string }
  /** The service's sliding window, which ends now. */
  | { readonly kind: 'window' };

/** Everything that the address says about what is shown. */
export interface View {
  readonly span: Span;
  /** All cameras where it is undefined. */
  readonly cameraId: string | undefined;
  /** What the busiest cameras are ordered by: `total_events` and so on, or a category. */
  readonly orderBy: string;
}

/** The order of the busiest cameras where none is chosen. */
export const DEFAULT_ORDER = 'total_events';

/** Today, all cameras. */
export const FIRST_VIEW: View = { span: { kind: 'today' }, cameraId: undefined, orderBy: DEFAULT_ORDER };

/** What an address says, and what of it could not be understood, in words. */
export interface ReadView {
  readonly view: View;
  readonly problems: readonly string[];
}

/**
 * A time as the address and the questions carry it, to the microsecond: `2026-11-21T08:00:00Z`. Understands what the service
 * understands; undefined where the text is not a time.
 */
export const addressTime = (text: string): string | undefined => {
  // A + that was not escaped arrives as a space.
  const instant = parseInstant(text.trim().replace(/ (?=\d{2}(?::?\d{2})?$)/, '+'));
  return instant === undefined ? undefined : formatInstant(instant).replace('+00:00', 'Z');
};

/**
 * The view that an address asks for. Parameters that are none of the page's are ignored; wrong ones are told, never taken for
 * another view in silence.
 *
 * @param search the address's query, with or without its question mark
 */
export const readView = (search: string): ReadView => {
  const parameters = new URLSearchParams(search);
  const problems: string[] = [];
  const span = readSpan(parameters, problems);
  const camera = parameters.get('camera_id');
  if (camera === '') problems.push('camera_id is empty: all cameras are shown.');
  return {
    view: { span, cameraId: camera || undefined, orderBy: parameters.get('order_by') || DEFAULT_ORDER },
    problems,
  };
};

const readSpan = (parameters: URLSearchParams, problems: string[]): Span => {
  const date = parameters.get('date');
  const [from, to] = [parameters.get('ts_utc_start'), parameters.get('ts_utc_end')];
  const showsToday = (problem: string): Span => {
    problems.push(`${problem} Today is shown.`);
    return FIRST_VIEW.span;
  };
  if (from !== null || to !== null) {
    if (from === null || to === null) return showsToday('A range needs both ts_utc_start and ts_utc_end.');
    const [start, end] = [addressTime(from), addressTime(to)];
    if (start === undefined || end === undefined) {
      return showsToday('ts_utc_start and ts_utc_end must be times such as 2026-11-21T08:00:00Z.');
    }
    if (date !== null) problems.push('The address has a date and a range: the range is shown.');
    return { kind: 'range', start, end };
  }
  if (date !== null) {
    return isCalendarDay(date)
      ? { kind: 'day', date }
      : showsToday('date must be a day that exists, such as 2026-11-21.');
  }
  return parameters.get('window') === 'sliding' ? { kind: 'window' } : FIRST_VIEW.span;
};

/**
 * The query of a view's address: empty for {@link FIRST_VIEW}, else with its question mark. {@link readView} reads the same view from it.
 *
 * @example viewSearch({ span: { kind: 'day', date: '2026-11-21' }, cameraId: 'ridge-04', orderBy: 'total_events' })
 * // '?date=2026-11-21&camera_id=ridge-04'
 */
export const viewSearch = ({ span, cameraId, orderBy }: View): string => {
  const parameters = new URLSearchParams();
  if (span.kind === 'day') parameters.set('date', span.date);
  if (span.kind === 'range') {
    parameters.set('ts_utc_start', span.start);
    parameters.set('ts_utc_end', span.end);
  }
  if (span.kind === 'window') parameters.set('window', 'sliding');
  if (cameraId !== undefined) parameters.set('camera_id', cameraId);
  if (orderBy !== DEFAULT_ORDER) parameters.set('order_by', orderBy);
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
