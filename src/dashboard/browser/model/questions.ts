import type { PeriodEnds, UtcDays } from './spans.ts';
import { seriesStep } from './steps.ts';

/** A path below the API's base, with its query: `analytics?ts_utc_start=…`. It never carries the key. */
export type Question = string;

const question = (path: string, parameters: Readonly<Record<string, string | undefined>>): Question => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return `${path}?${query}`;
};

/** The ten facts of a period; the ids of the cameras only if somebody looks at them. */
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
    step: seriesStep(Date.parse(period.start), Date.parse(period.end)),
    camera_id: cameraId,
  });

/** How often the AI was right on some UTC days. */
export const accuracyQuestion = (
  { last, days }: Pick<UtcDays, 'last' | 'days'>,
  cameraId: string | undefined,
): Question => question('analytics/accuracy', { date: last, days: String(days), camera_id: cameraId });

/** Orders the cameras by how often the AI flagged something that nobody confirmed. The service does not know this order: the page asks for all cameras and orders them. */
export const BY_NOT_CONFIRMED = 'not_confirmed';

/** The most cameras that the service lists. */
export const MOST_CAMERAS = 5_000;

/** The cameras of some UTC days. It takes no camera id: a camera that is shown alone is still listed among the others. */
export const camerasQuestion = (
  { last, days }: Pick<UtcDays, 'last' | 'days'>,
  orderBy: string,
  search: string,
  limit: number,
): Question => {
  const isOrderedHere = orderBy === BY_NOT_CONFIRMED;
  return question('analytics/cameras', {
    date: last,
    days: String(days),
    order_by: isOrderedHere ? 'total_events' : orderBy,
    accuracy: 'true',
    q: search || undefined,
    limit: String(isOrderedHere ? MOST_CAMERAS : limit),
  });
};

/** A camera that sent nothing for so many days is gone, not silent. */
export const KNOWN_DAYS = 7;

/** When each camera of the last days last sent a frame. @param today the current UTC day */
export const knownQuestion = (today: string): Question =>
  question('analytics/cameras/last-seen', { date: today, days: String(KNOWN_DAYS), limit: String(MOST_CAMERAS) });

/** The notifications that need attention, however many newer ones there are; and whether the phone works. */
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
