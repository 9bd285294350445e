import { sensibleStep } from './series-step.ts';
import type { View } from './view.ts';
import { lastDayOf } from './view-steps.ts';

/** How many notifications the page lists. */
const RECENT_NOTIFICATIONS = 10;

/** A path below the API's base, with its query: `analytics/day?date=2026-11-21`. It never carries the key. */
export type Question = string;

/** Both ends of a period, as the service writes them or as the address has them. */
export interface PeriodEnds {
  readonly start: string;
  readonly end: string;
}

const question = (path: string, parameters: Readonly<Record<string, string | undefined>>): Question => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
};

/** The ten facts of a view. */
export const activityQuestion = ({ span, cameraId }: View, now: number): Question => {
  if (span.kind === 'window') return question('analytics', { camera_id: cameraId });
  return span.kind === 'range'
    ? question('analytics', { ts_utc_start: span.start, ts_utc_end: span.end, camera_id: cameraId })
    : question('analytics/day', { date: lastDayOf(span, now), camera_id: cameraId });
};

/** Both ends of what a view shows; undefined for the sliding window, whose ends the service knows. */
export const periodOf = ({ span }: View, now: number): PeriodEnds | undefined => {
  if (span.kind === 'window') return undefined;
  if (span.kind === 'range') return { start: span.start, end: span.end };
  const date = lastDayOf(span, now);
  return { start: `${date}T00:00:00Z`, end: `${date}T23:59:59.999999Z` };
};

/** The series of a period. */
export const seriesQuestion = ({ start, end }: PeriodEnds, cameraId: string | undefined): Question =>
  question('analytics/series', {
    ts_utc_start: start,
    ts_utc_end: end,
    step: sensibleStep(Date.parse(start), Date.parse(end)),
    camera_id: cameraId,
  });

/** The busiest cameras of a view's last day: a camera that is shown alone is still listed among the others. */
export const camerasQuestion = ({ span, orderBy }: View, limit: number, now: number): Question =>
  question('analytics/cameras', { date: lastDayOf(span, now), order_by: orderBy, limit: String(limit) });

/** The newest notifications. */
export const notificationsQuestion = (): Question => question('notifications', { limit: String(RECENT_NOTIFICATIONS) });

/** What became of one notification. */
export const storyQuestion = (notificationId: string): Question =>
  `notifications/${encodeURIComponent(notificationId)}`;

/**
 * The path below which the API is, from the page's own: the page is one of its endpoints.
 *
 * @example apiBase('/api/dashboard') // '/api/'
 */
export const apiBase = (pathname: string): string => pathname.replace(/\/+$/, '').replace(/[^/]*$/, '') || '/';
