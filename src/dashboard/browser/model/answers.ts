import * as z from 'zod/mini';

import { STEPS } from './steps.ts';

// Without it, zod tries to compile functions from text. The page's Content-Security-Policy forbids that and reports it.
z.config({ jitless: true });

// The answers of the endpoints, as far as the page needs them. Members that a newer service adds are left out, not refused.

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

/** Of one category, in reviewed frames. */
const accuracy = z.object({ flagged: z.number(), confirmed: z.number(), missed: z.number() });

/** `GET /api/analytics`; without ids if `active_camera_ids=false`. */
export const activitySchema = z.object({ ...period, active_camera_ids: z.optional(z.array(z.string())), ...counts });

/** `GET /api/analytics/series` */
export const seriesSchema = z.object({ step: z.enum(STEPS), steps: z.array(z.object({ ...period, ...counts })) });

/** `GET /api/analytics/cameras?accuracy=true` */
export const camerasSchema = z.object({
  date: z.string(),
  days: z.number(),
  total_cameras: z.number(),
  cameras: z.array(
    z.object({
      camera_id: z.string(),
      ...counts,
      flagged: perCategory,
      confirmed: perCategory,
      missed: perCategory,
    }),
  ),
});

/** `GET /api/analytics/accuracy` */
export const accuracySchema = z.object({
  date: z.string(),
  days: z.number(),
  categories: z.record(z.string(), accuracy),
  /** Days whose counters do not keep these figures. */
  without: z.array(z.string()),
});

/** `GET /api/analytics/cameras/last-seen` */
export const knownSchema = z.object({
  cameras: z.array(z.object({ camera_id: z.string(), last_event_at: z.string() })),
});

const attempt = z.object({
  placed_at: z.optional(z.string()),
  ended_at: z.optional(z.string()),
  outcome: z.optional(z.string()),
  code: z.optional(z.number()),
  sub_code: z.optional(z.number()),
  reason: z.optional(z.string()),
});

const recipient = z.object({
  recipient: z.string(),
  name: z.optional(z.string()),
  status: z.string(),
  reason: z.optional(z.string()),
  since: z.optional(z.string()),
  wave: z.optional(z.number()),
  attempts: z.array(attempt),
  confirmed_at: z.optional(z.string()),
  next_attempt_at: z.optional(z.string()),
});

/** `GET /api/notifications/{id}`, and an element of the list. */
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
  /** Present only if it is true. */
  worsened_since_acknowledged: z.optional(z.boolean()),
  stopped_at: z.optional(z.string()),
  stopped_by: z.optional(z.string()),
  /** `PHONE=off` ended the calls. */
  phone_off_at: z.optional(z.string()),
  recipients: z.array(recipient),
});

/** `GET /api/notifications`; `phone` with `attention=true` only. */
export const notificationsSchema = z.object({
  notifications: z.array(notificationSchema),
  phone: z.optional(z.object({ usable: z.boolean(), since: z.optional(z.string()), reason: z.optional(z.string()) })),
});

/** The body of an error (RFC 9457). */
export const problemSchema = z.object({ detail: z.string(), code: z.optional(z.string()) });

export type CountsPerCategory = Readonly<Record<string, number>>;
export type Activity = z.infer<typeof activitySchema>;
export type Series = z.infer<typeof seriesSchema>;
export type Cameras = z.infer<typeof camerasSchema>;
export type CameraCounts = Cameras['cameras'][number];
export type Accuracy = z.infer<typeof accuracySchema>;
export type KnownCameras = z.infer<typeof knownSchema>;
export type Attempt = z.infer<typeof attempt>;
export type Recipient = z.infer<typeof recipient>;
export type Notification = z.infer<typeof notificationSchema>;
export type Notifications = z.infer<typeof notificationsSchema>;
