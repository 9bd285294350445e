import { type PeriodEnds, sensibleStep, type UtcDays } from './spans.ts';

/** A path below the API's base, with its query: `analytics?ts_utc_start=…`. It never carries the key. */
export type Question = string;

const question = (path: string, parameters: Readonly<Record<string, string | undefined>>): Question => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return `${path}?${query}`;
};

/** The ten facts of a period; the ids of the cameras only where somebody looks at them. */
export const activityQuestion = (
  { start, end }: PeriodEnds,
  cameraId: string | undefined,
  { withIds }: { readonly withIds: boolean },
): Question =>
  question('analytics', {
    ts_utc_start: start,
    ts_utc_end: end,
    camera_id: cameraId,
    active_camera_ids: withIds ? undefined : 'false',
  });

/** The series of a period. */
export const seriesQuestion = (period: PeriodEnds, cameraId: string | undefined): Question =>
  question('analytics/series', {
    ts_utc_start: period.start,
    ts_utc_end: period.end,
    step: sensibleStep(period),
    camera_id: cameraId,
  });

/** The cameras of some UTC days: a camera that is shown alone is still listed among the others. */
export const camerasQuestion = ({ last, days }: UtcDays, orderBy: string, limit: number): Question =>
  question('analytics/cameras', { date: last, days: String(days), order_by: orderBy, limit: String(limit) });

/** The newest notifications. */
export const notificationsQuestion = (limit: number): Question => question('notifications', { limit: String(limit) });

/** What became of one notification. */
export const storyQuestion = (notificationId: string): Question =>
  `notifications/${encodeURIComponent(notificationId)}`;

/**
 * The path below which the API is, from the page's own: the page is one of its endpoints.
 *
 * @example apiBase('/api/dashboard') // '/api/'
 */
export const apiBase = (pathname: string): string => pathname.replace(/\/+$/, '').replace(/[^/]*$/, '') || '/';
