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
export const camerasQuestion = (
  { last, days }: Pick<UtcDays, 'last' | 'days'>,
  orderBy: string,
  search: string,
  limit: number,
): Question =>
  question('analytics/cameras', {
    date: last,
    days: String(days),
    order_by: orderBy,
    q: search || undefined,
    limit: String(limit),
  });

/** The cameras of the last days, by the UTC day that it is: only when each last sent a frame. */
export const knownQuestion = (today: string): Question =>
  question('analytics/cameras', { date: today, days: String(KNOWN_DAYS), counts: 'false', limit: '5000' });

/** A camera that sent nothing for so many days is gone, not silent. */
export const KNOWN_DAYS = 7;

/** The notifications that somebody has to know of, however many newer ones there are. */
export const ATTENTION_QUESTION: Question = 'notifications?attention=true';

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
