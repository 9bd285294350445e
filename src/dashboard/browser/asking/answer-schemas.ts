import * as z from 'zod/mini';

import type { Activity, Cameras, Notification, Notifications, Series } from '../model/answers.ts';

// Without it, zod tries to compile functions from text, which the page's Content-Security-Policy forbids and reports.
z.config({ jitless: true });

/*
 * The answers as far as the page needs them. Members that a newer service adds are left out, not refused.
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

const span = { ts_utc_start: z.string(), ts_utc_end: z.string(), active_cameras: z.number() };

/** `GET /api/analytics`, `GET /api/analytics/day` */
export const activitySchema: z.ZodMiniType<Activity> = z.object({
  ...span,
  active_camera_ids: z.array(z.string()),
  ...counts,
});

/** `GET /api/analytics/series` */
export const seriesSchema: z.ZodMiniType<Series> = z.object({
  step: z.enum(['minute', 'hour', 'day']),
  steps: z.array(z.object({ ...span, ...counts })),
});

/** `GET /api/analytics/cameras` */
export const camerasSchema: z.ZodMiniType<Cameras> = z.object({
  date: z.string(),
  total_cameras: z.number(),
  cameras: z.array(z.object({ camera_id: z.string(), ...counts })),
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

/** `GET /api/notifications/{id}`, and one of a list. */
export const notificationSchema: z.ZodMiniType<Notification> = z.object({
  notification_id: z.string(),
  alert_type: z.string(),
  created_at: z.string(),
  status: z.string(),
  recipients: z.prefault(
    z.array(
      z.object({
        recipient: z.string(),
        status: z.string(),
        reason: z.optional(z.string()),
        attempts: z.prefault(z.array(attempt), []),
        next_attempt_at: z.optional(z.string()),
      }),
    ),
    [],
  ),
});

/** `GET /api/notifications` */
export const notificationsSchema: z.ZodMiniType<Notifications> = z.object({
  notifications: z.array(notificationSchema),
});

/** An error's body (RFC 9457), as far as it is shown. */
export const problemSchema = z.object({ detail: z.string() });
