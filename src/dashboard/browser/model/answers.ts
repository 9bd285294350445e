import * as z from 'zod/mini';

// Without it, zod tries to compile functions from text, which the page's Content-Security-Policy forbids and reports.
z.config({ jitless: true });

/*
 * What the endpoints answer, as far as the page needs it. Members that a newer service adds are left out, not refused.
 */

const perCategory = z.record(z.string(), z.number());

const counts = {
  total_events: z.number(),
  counts_per_category: perCategory,
  reviewed_total_events: z.number(),
  reviewed_counts_per_category: perCategory,
  annotated_total_events: z.number(),
  annotated_counts_per_category: perCategory,
};

const period = { ts_utc_start: z.string(), ts_utc_end: z.string(), active_cameras: z.number() };

/** `GET /api/analytics`: the ten facts; the ids only where they were asked for. */
export const activitySchema = z.object({ ...period, active_camera_ids: z.optional(z.array(z.string())), ...counts });

/** `GET /api/analytics/series` */
export const seriesSchema = z.object({
  step: z.enum(['minute', 'hour', 'day']),
  steps: z.array(z.object({ ...period, ...counts })),
});

/** `GET /api/analytics/cameras` */
export const camerasSchema = z.object({
  date: z.string(),
  days: z.prefault(z.number(), 1),
  total_cameras: z.number(),
  cameras: z.array(z.object({ camera_id: z.string(), ...counts })),
});

/** `GET /api/analytics/cameras?counts=false` */
export const knownSchema = z.object({
  cameras: z.array(z.object({ camera_id: z.string(), last_event_at: z.optional(z.string()) })),
});

const attempt = z.object({
  call_connection_id: z.optional(z.string()),
  placed_at: z.optional(z.string()),
  ended_at: z.optional(z.string()),
  outcome: z.optional(z.string()),
  code: z.optional(z.number()),
  sub_code: z.optional(z.number()),
  reason: z.optional(z.string()),
});

const recipient = z.object({
  recipient: z.string(),
  status: z.string(),
  wave: z.optional(z.number()),
  attempts: z.prefault(z.array(attempt), []),
  next_attempt_at: z.optional(z.string()),
});

/** `GET /api/notifications/{id}`, and one of a list. */
export const notificationSchema = z.object({
  notification_id: z.string(),
  alert_type: z.string(),
  reference: z.optional(z.string()),
  details: z.optional(z.string()),
  created_at: z.string(),
  status: z.string(),
  confirmations_needed: z.optional(z.number()),
  next_wave_at: z.optional(z.string()),
  acknowledged_by: z.optional(z.string()),
  acknowledged_at: z.optional(z.string()),
  recipients: z.prefault(z.array(recipient), []),
});

/** `GET /api/notifications` */
export const notificationsSchema = z.object({ notifications: z.array(notificationSchema) });

/** An error's body (RFC 9457), as far as it is shown. */
export const problemSchema = z.object({ detail: z.string(), code: z.optional(z.string()) });

/** Counts by category. */
export type CountsPerCategory = Readonly<Record<string, number>>;
export type Activity = z.infer<typeof activitySchema>;
export type Series = z.infer<typeof seriesSchema>;
export type Cameras = z.infer<typeof camerasSchema>;
/** The cameras that are known, and when each last sent a frame: the start of that minute. */
export type KnownCameras = z.infer<typeof knownSchema>;
export type KnownCamera = KnownCameras['cameras'][number];
export type CameraCounts = Cameras['cameras'][number];
export type Attempt = z.infer<typeof attempt>;
/** One person of a notification; the number is masked. */
export type Recipient = z.infer<typeof recipient>;
export type Notification = z.infer<typeof notificationSchema>;
export type Notifications = z.infer<typeof notificationsSchema>;
