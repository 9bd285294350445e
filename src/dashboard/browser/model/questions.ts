import type { PartName } from './answers.ts';
import { KNOWN_DAYS } from './camera-states.ts';
import { FIRST_CAMERAS, orderOf, type PageState } from './page-state.ts';
import { previousPeriod } from './previous-period.ts';
import { type Pace, PACES } from './refresh.ts';
import { isLive, type PeriodEnds, periodOf, recentPeriod, type UtcDays, utcDaysOf } from './spans.ts';
import { DAY_MS, HOUR_MS, seriesStep } from './steps.ts';
import { startText, utcDayOf } from './times.ts';

/** A path below the API's base, with its query: `analytics?ts_utc_start=…`. It never carries the key. */
export type Question = string;

type Parameters = Readonly<Record<string, string | number | undefined>>;

const question = (path: string, parameters: Parameters): Question => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return `${path}?${query}`;
};

/** The order of cameras by false alarms. The service does not know it: the page requests all cameras and sorts them. */
export const BY_FALSE_ALARMS = 'false_alarms';

/** The service lists no more cameras. */
export const MOST_CAMERAS = 5_000;

/** The cameras of some UTC days: all cameras, even if the page shows one camera alone. */
export const camerasQuestion = ({ last, days }: UtcDays, orderBy: string, search: string, limit: number): Question => {
  const isSortedHere = orderBy === BY_FALSE_ALARMS;
  return question('analytics/cameras', {
    date: last,
    days,
    order_by: isSortedHere ? 'total_events' : orderBy,
    accuracy: 'true',
    q: search || undefined,
    limit: isSortedHere ? MOST_CAMERAS : limit,
  });
};

/** The service lists no more notifications at once. */
export const MOST_NOTIFICATIONS = 500;

export const alertQuestion = (notificationId: string): Question =>
  `notifications/${encodeURIComponent(notificationId)}`;

export interface Asked {
  readonly question: Question;
  /** The last hour is one subject, although its ends move: its figures stay until the next answer. */
  readonly subject: string;
  readonly pace: Pace;
}

/** A hidden tab asks for these parts: alerts, and whether cameras send. */
const WHILE_HIDDEN: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'recent', 'known']);

const asked = (of: Question, pace: Pace, subject: string = of): Asked => ({ question: of, subject, pace });

/** The question of a part of the page at `now` (milliseconds since 1970); undefined if the page does not poll the part. */
export const askedOf = (state: PageState, name: PartName, now: number): Asked | undefined => {
  const { view, times, wants, isHidden, locked } = state;
  const { span, cameraId, notification } = view;
  const alerts = locked !== undefined ? PACES.locked : isHidden ? PACES.hidden : PACES.alerts;
  if (name === 'attention') return asked('notifications?attention=true', alerts);
  if (name === 'notifications') {
    // The question changes once an hour: in between, the service can answer 304.
    const since = startText(now - (now % HOUR_MS) - DAY_MS);
    return asked(question(name, { ts_utc_start: since, limit: MOST_NOTIFICATIONS }), alerts, name);
  }
  if (locked !== undefined || (isHidden && !WHILE_HIDDEN.has(name))) return undefined;
  const period = periodOf(span, now, times);
  const days = utcDaysOf(period, now);
  const pace = isLive(span, now, times) ? PACES.live : PACES.past;
  const moving = span.kind === 'last' ? `last ${span.length}, camera ${cameraId ?? ''}` : undefined;
  const countsOf = ({ start, end }: PeriodEnds, more: Parameters, path = 'analytics'): Question =>
    question(path, { ts_utc_start: start, ts_utc_end: end, camera_id: cameraId, ...more });
  switch (name) {
    case 'opened':
      if (notification === undefined || isListed(state, notification)) return undefined;
      return asked(alertQuestion(notification), PACES.alerts);
    case 'activity':
      return asked(countsOf(period, { active_camera_ids: 'false' }), pace, moving);
    case 'previous': {
      const previous = previousPeriod(span, now, times);
      const subject = moving ?? JSON.stringify([span, cameraId, previous.start]);
      return asked(countsOf(previous, { active_camera_ids: 'false' }), PACES.past, subject);
    }
    case 'series': {
      const step = seriesStep(Date.parse(period.start), Date.parse(period.end));
      return asked(countsOf(period, { step }, 'analytics/series'), pace, moving);
    }
    case 'cameras': {
      const order = orderOf(state);
      // A long list is work for the service and for the page.
      const isLong = days.days > 2 || wants.cameras > FIRST_CAMERAS || order === BY_FALSE_ALARMS;
      return asked(
        camerasQuestion(days, order, wants.search, wants.cameras),
        isLong || pace === PACES.past ? PACES.past : PACES.cameras,
        // The cameras stay while the page requests a longer list or other names.
        camerasQuestion(days, order, '', 0),
      );
    }
    case 'accuracy':
      return asked(
        question('analytics/accuracy', { date: days.last, days: days.days, camera_id: cameraId }),
        PACES.past,
      );
    case 'recent': {
      const { start, end } = recentPeriod(now);
      const of = question('analytics', { ts_utc_start: start, ts_utc_end: end });
      return asked(of, isHidden ? PACES.hidden : PACES.past, name);
    }
    case 'known': {
      const of = { date: utcDayOf(now), days: KNOWN_DAYS, limit: MOST_CAMERAS };
      return asked(question('analytics/cameras/last-seen', of), PACES.known, name);
    }
  }
};

const isListed = ({ parts: { attention, notifications } }: PageState, id: string): boolean =>
  [...(attention?.answer?.notifications ?? []), ...(notifications?.answer?.notifications ?? [])].some(
    (each) => each.notification_id === id,
  );

/** `/api/dashboard` → `/api/`: the page is one of the endpoints. */
export const apiBase = (pathname: string): string => pathname.replace(/\/+$/, '').replace(/[^/]*$/, '') || '/';
