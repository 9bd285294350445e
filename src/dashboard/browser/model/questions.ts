import { KNOWN_DAYS } from './camera-states.ts';
import { FIRST_CAMERAS, orderOf, type PageState, type PartName } from './page-state.ts';
import { previousPeriod } from './previous-period.ts';
import { type Pace, PACES } from './refresh.ts';
import { isLive, periodOf, recentPeriod, type UtcDays, utcDaysOf } from './spans.ts';
import { DAY_MS, seriesStep } from './steps.ts';
import { startText, utcDayOf } from './times.ts';

/** A path below the API's base, with its query: `analytics?ts_utc_start=…`. It never carries the key. */
export type Question = string;

const question = (path: string, parameters: Readonly<Record<string, string | number | undefined>>): Question => {
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

const HOUR_MS = 3_600_000;

export const storyQuestion = (notificationId: string): Question =>
  `notifications/${encodeURIComponent(notificationId)}`;

export interface Asked {
  readonly question: Question;
  /** The last hour is one subject, although its ends move: its figures stay until the next answer. */
  readonly subject: string;
  readonly pace: Pace;
}

/** A hidden tab asks for these parts: alerts, and whether cameras send. */
const WHILE_HIDDEN: ReadonlySet<PartName> = new Set(['attention', 'notifications', 'recent', 'known']);

/** The question of a part of the page at `now` (milliseconds since 1970); undefined if the page does not poll the part. */
export const askedOf = (state: PageState, name: PartName, now: number): Asked | undefined => {
  const { view, times, wants, isHidden, locked } = state;
  const alerts = locked !== undefined ? PACES.locked : isHidden ? PACES.hidden : PACES.alerts;
  if (name === 'attention') return { question: 'notifications?attention=true', subject: name, pace: alerts };
  if (name === 'notifications') {
    // The question changes once an hour: in between, the service can answer 304.
    const since = startText(now - (now % HOUR_MS) - DAY_MS);
    const asked = question('notifications', { ts_utc_start: since, limit: MOST_NOTIFICATIONS });
    return { question: asked, subject: name, pace: alerts };
  }
  if (locked !== undefined || (isHidden && !WHILE_HIDDEN.has(name))) return undefined;
  const period = periodOf(view.span, now, times);
  const shown = { ts_utc_start: period.start, ts_utc_end: period.end, camera_id: view.cameraId };
  const days = utcDaysOf(period, now);
  const pace = isLive(view.span, now, times) ? PACES.live : PACES.past;
  const moving = view.span.kind === 'last' ? `last ${view.span.length}, camera ${view.cameraId ?? ''}` : undefined;
  switch (name) {
    case 'story': {
      const { notification: id } = view;
      if (id === undefined || isListed(state, id)) return undefined;
      return { question: storyQuestion(id), subject: storyQuestion(id), pace: PACES.alerts };
    }
    case 'previous': {
      const { start, end } = previousPeriod(view.span, now, times);
      const of = { ...shown, ts_utc_start: start, ts_utc_end: end, active_camera_ids: 'false' };
      const subject = JSON.stringify([view.span, view.cameraId, start]);
      return { question: question('analytics', of), subject: moving ?? subject, pace: PACES.past };
    }
    case 'activity': {
      const asked = question('analytics', { ...shown, active_camera_ids: 'false' });
      return { question: asked, subject: moving ?? asked, pace };
    }
    case 'series': {
      const step = seriesStep(Date.parse(period.start), Date.parse(period.end));
      const asked = question('analytics/series', { ...shown, step });
      return { question: asked, subject: moving ?? asked, pace };
    }
    case 'cameras': {
      const order = orderOf(state);
      // The cameras stay while the page requests a longer list or other names.
      const subject = camerasQuestion(days, order, '', 0);
      // A long list is work for the service and for the page.
      const isLong = days.days > 2 || wants.cameras > FIRST_CAMERAS || order === BY_FALSE_ALARMS;
      const asked = camerasQuestion(days, order, wants.search, wants.cameras);
      return { question: asked, subject, pace: isLong || pace === PACES.past ? PACES.past : PACES.cameras };
    }
    case 'accuracy': {
      const of = { date: days.last, days: days.days, camera_id: view.cameraId };
      const asked = question('analytics/accuracy', of);
      return { question: asked, subject: asked, pace: PACES.past };
    }
    case 'recent': {
      const { start, end } = recentPeriod(now);
      return {
        question: question('analytics', { ts_utc_start: start, ts_utc_end: end }),
        subject: name,
        pace: PACES.past,
      };
    }
    case 'known': {
      const of = { date: utcDayOf(now), days: KNOWN_DAYS, limit: MOST_CAMERAS };
      return { question: question('analytics/cameras/last-seen', of), subject: name, pace: PACES.known };
    }
  }
};

const isListed = ({ parts: { attention, notifications } }: PageState, id: string): boolean =>
  [...(attention?.answer?.notifications ?? []), ...(notifications?.answer?.notifications ?? [])].some(
    (each) => each.notification_id === id,
  );

/** `/api/dashboard` → `/api/`: the page is one of the endpoints. */
export const apiBase = (pathname: string): string => pathname.replace(/\/+$/, '').replace(/[^/]*$/, '') || '/';
