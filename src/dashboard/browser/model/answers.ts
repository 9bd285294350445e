/** What the endpoints answer, as far as the page shows it. */

/** Counts by category. */
export type CountsPerCategory = Readonly<Record<string, number>>;

/** The counts that a period, a step of a series and a camera of a day have. */
export interface Counts {
  readonly total_events: number;
  readonly counts_per_category: CountsPerCategory;
  readonly reviewed_total_events: number;
  readonly reviewed_counts_per_category: CountsPerCategory;
  readonly annotated_total_events: number;
  readonly annotated_counts_per_category: CountsPerCategory;
}

/** `GET /api/analytics` and `GET /api/analytics/day`: the ten facts. */
export interface Activity extends Counts {
  readonly ts_utc_start: string;
  readonly ts_utc_end: string;
  readonly active_cameras: number;
  readonly active_camera_ids: readonly string[];
}

/** One step of a series. */
export interface SeriesStepCounts extends Counts {
  readonly ts_utc_start: string;
  readonly ts_utc_end: string;
  readonly active_cameras: number;
}

/** `GET /api/analytics/series`. */
export interface Series {
  readonly step: 'minute' | 'hour' | 'day';
  readonly steps: readonly SeriesStepCounts[];
}

/** One camera of a day. */
export interface CameraCounts extends Counts {
  readonly camera_id: string;
}

/** `GET /api/analytics/cameras`. */
export interface Cameras {
  readonly date: string;
  readonly total_cameras: number;
  readonly cameras: readonly CameraCounts[];
}

/** One call to a recipient. What is not known is left out. */
export interface Attempt {
  readonly call_connection_id?: string | undefined;
  readonly placed_at?: string | undefined;
  readonly ended_at?: string | undefined;
  readonly outcome?: string | undefined;
  readonly code?: number | undefined;
  readonly sub_code?: number | undefined;
  readonly reason?: string | undefined;
}

/** One person of a notification; the number is masked. */
export interface Recipient {
  readonly recipient: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly attempts: readonly Attempt[];
  readonly next_attempt_at?: string | undefined;
}

/** `GET /api/notifications/{id}`. */
export interface Notification {
  readonly notification_id: string;
  readonly alert_type: string;
  readonly created_at: string;
  readonly status: string;
  readonly recipients: readonly Recipient[];
}

/** `GET /api/notifications`. */
export interface Notifications {
  readonly notifications: readonly Notification[];
}
