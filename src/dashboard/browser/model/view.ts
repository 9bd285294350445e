import { formatInstant, parseInstant } from '../../../analytics/model/instant.ts';
import { isCalendarDay, type ClockOf } from './times.ts';

/** The ranges that end now: hours until the current minute, or days including today. */
export const LAST = {
  '1h': { hours: 1 },
  '6h': { hours: 6 },
  '24h': { hours: 24 },
  '7d': { days: 7 },
  '30d': { days: 30 },
} as const satisfies Record<string, { readonly hours: number } | { readonly days: number }>;

export type Last = keyof typeof LAST;

export type Span =
  /** The current day: at midnight the page changes to the next day. */
  | { readonly kind: 'today' }
  /** `YYYY-MM-DD`, a day of the page's clock. */
  | { readonly kind: 'day'; readonly date: string }
  /** Both ends are included, in the form of {@link addressTime}. */
  | { readonly kind: 'range'; readonly start: string; readonly end: string }
  | { readonly kind: 'last'; readonly length: Last };

export interface View {
  readonly span: Span;
  readonly cameraId: string | undefined;
  /** The order of the cameras: a total such as `total_events`, or a category. */
  readonly orderBy: string;
  readonly notification: string | undefined;
  readonly clock: ClockOf;
  /** For a screen on the wall: large, dark, without controls. */
  readonly wall: boolean;
}

const DEFAULT_ORDER = 'fire';

export const FIRST_VIEW: View = {
  span: { kind: 'today' },
  cameraId: undefined,
  orderBy: DEFAULT_ORDER,
  notification: undefined,
  clock: 'local',
  wall: false,
};

export interface ReadView {
  readonly view: View;
  readonly problems: readonly string[];
}

/** `2026-11-21T08:00:00Z`, of a time of a calendar day in any form that the service accepts; undefined for other texts. */
export const addressTime = (text: string): string | undefined => {
  // A + that was not escaped arrives as a space.
  const instant = parseInstant(text.trim().replace(/ (?=\d{2}(?::?\d{2})?$)/, '+'));
  const time = instant === undefined ? '' : formatInstant(instant).replace('+00:00', 'Z');
  return isCalendarDay(time.slice(0, 10)) ? time : undefined;
};

const SPANS = ['date', 'ts_utc_start', 'ts_utc_end', 'last'];
const KNOWN: ReadonlySet<string> = new Set([...SPANS, 'camera_id', 'order_by', 'notification', 'tz', 'wall']);

/** The view in an address's query, and everything that is wrong with the query. */
export const readView = (search: string): ReadView => {
  const parameters = new URLSearchParams(search);
  const problems: string[] = [];
  for (const name of new Set(parameters.keys())) {
    if (!KNOWN.has(name)) problems.push(`${name.slice(0, 40)} is not a parameter of this page.`);
    else if (parameters.getAll(name).length > 1) problems.push(`${name} is given more than once: the first counts.`);
    else if (parameters.get(name) === '' && name !== 'wall') problems.push(`${name} is empty.`);
  }
  const given = SPANS.filter((name) => parameters.has(name));
  const span = readSpan(parameters);
  if (span === undefined && given.length > 0) {
    const form = 'date=2026-11-21, last=6h, or ts_utc_start=2026-11-21T08:00:00Z with ts_utc_end';
    problems.push(
      `${given.join(' and ')} ${given.length === 1 ? 'is' : 'are'} not valid. The page shows today. Write ${form}.`,
    );
  } else if (given.length > (span?.kind === 'range' ? 2 : 1)) {
    problems.push(`The address has more than one period. The page shows the ${span?.kind ?? ''}.`);
  }
  const tz = parameters.get('tz') ?? 'local';
  if (tz !== 'utc' && tz !== 'local') problems.push('tz must be utc or local: times are local.');
  const view: View = {
    span: span ?? FIRST_VIEW.span,
    cameraId: parameters.get('camera_id') || undefined,
    orderBy: parameters.get('order_by') || DEFAULT_ORDER,
    notification: parameters.get('notification') || undefined,
    clock: tz === 'utc' ? 'utc' : 'local',
    wall: parameters.has('wall'),
  };
  return { view, problems };
};

const readSpan = (parameters: URLSearchParams): Span | undefined => {
  const [date, last] = [parameters.get('date') ?? '', parameters.get('last') ?? ''];
  const [start, end] = [parameters.get('ts_utc_start'), parameters.get('ts_utc_end')].map((at) =>
    addressTime(at ?? ''),
  );
  if (start !== undefined && end !== undefined) return { kind: 'range', start, end };
  if (isCalendarDay(date)) return { kind: 'day', date };
  return isLast(last) ? { kind: 'last', length: last } : undefined;
};

export const isLast = (text: string): text is Last => Object.hasOwn(LAST, text);

/** `?date=2026-11-21&camera_id=ridge-04`; empty for {@link FIRST_VIEW}. */
export const viewSearch = ({ span, cameraId, orderBy, notification, clock, wall }: View): string => {
  const parameters = new URLSearchParams({
    ...(span.kind === 'day' && { date: span.date }),
    ...(span.kind === 'range' && { ts_utc_start: span.start, ts_utc_end: span.end }),
    ...(span.kind === 'last' && { last: span.length }),
    ...(cameraId !== undefined && { camera_id: cameraId }),
    ...(orderBy !== DEFAULT_ORDER && { order_by: orderBy }),
    ...(notification !== undefined && { notification }),
    ...(clock === 'utc' && { tz: 'utc' }),
  });
  // A colon may stand in a query as it is, and reads better.
  const text = parameters.toString().replaceAll('%3A', ':');
  const parts = [...(wall ? ['wall'] : []), ...(text === '' ? [] : [text])];
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
};

/** The Functions host accepts a key in these parameters. */
const KEY_PARAMETERS: ReadonlySet<string> = new Set(['code', 'clientid']);

/** An address's query without a key: readers bookmark and share addresses. */
export const withoutKey = (search: string): string => {
  const parameters = new URLSearchParams(search);
  const keys = [...new Set(parameters.keys())].filter((name) => KEY_PARAMETERS.has(name.toLowerCase()));
  if (keys.length === 0) return search;
  for (const name of keys) parameters.delete(name);
  return parameters.size === 0 ? '' : `?${parameters}`;
};
