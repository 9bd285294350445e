import * as v from 'valibot';

import { STEPS } from './steps.ts';

// The answers of the endpoints, as far as the page needs them. Members that a newer service adds are left out, not refused.

/** One entry for each category. `v.record` would drop a category with the name `constructor` or `prototype`. */
const perCategoryOf = <Entry>(entry: v.GenericSchema<Entry>) =>
  v.custom<Readonly<Record<string, Entry>>>(
    (of) => typeof of === 'object' && of !== null && Object.values(of).every((each) => v.is(entry, each)),
  );

const perCategory = perCategoryOf(v.number());

const counts = {
  total_events: v.number(),
  counts_per_category: perCategory,
  reviewed_total_events: v.number(),
  reviewed_counts_per_category: perCategory,
  annotated_total_events: v.number(),
  annotated_counts_per_category: perCategory,
};

const period = { ts_utc_start: v.string(), ts_utc_end: v.string(), active_cameras: v.number() };

/** Of one category, in reviewed frames. */
const accuracy = v.object({ flagged: v.number(), confirmed: v.number(), missed: v.number() });

/** `GET /api/analytics`; without ids if `active_camera_ids=false`. */
const activity = v.object({ ...period, active_camera_ids: v.optional(v.array(v.string())), ...counts });

/** `GET /api/analytics/series` */
const series = v.object({ step: v.picklist(STEPS), steps: v.array(v.object({ ...period, ...counts })) });

/** `GET /api/analytics/cameras?accuracy=true` */
const cameras = v.object({
  date: v.string(),
  days: v.number(),
  total_cameras: v.number(),
  cameras: v.array(
    v.object({
      camera_id: v.string(),
      ...counts,
      flagged: perCategory,
      confirmed: perCategory,
      missed: perCategory,
    }),
  ),
});

/** `GET /api/analytics/accuracy` */
const accuracies = v.object({
  date: v.string(),
  days: v.number(),
  categories: perCategoryOf(accuracy),
  /** Days whose counters do not keep these figures. */
  without: v.array(v.string()),
});

/** `GET /api/analytics/cameras/last-seen` */
const known = v.object({
  cameras: v.array(v.object({ camera_id: v.string(), last_event_at: v.string() })),
});

const attempt = v.object({
  placed_at: v.optional(v.string()),
  ended_at: v.optional(v.string()),
  outcome: v.optional(v.string()),
  code: v.optional(v.number()),
  sub_code: v.optional(v.number()),
  reason: v.optional(v.string()),
});

const recipient = v.object({
  recipient: v.string(),
  name: v.optional(v.string()),
  status: v.string(),
  reason: v.optional(v.string()),
  since: v.optional(v.string()),
  wave: v.optional(v.number()),
  attempts: v.array(attempt),
  confirmed_at: v.optional(v.string()),
  next_attempt_at: v.optional(v.string()),
});

/** `GET /api/notifications/{id}`, and an element of the list. */
export const notificationSchema = v.object({
  notification_id: v.string(),
  alert_type: v.string(),
  reference: v.optional(v.string()),
  details: v.optional(v.string()),
  created_at: v.string(),
  status: v.string(),
  confirmations_needed: v.optional(v.number()),
  next_wave_at: v.optional(v.string()),
  acknowledged_by: v.optional(v.string()),
  acknowledged_at: v.optional(v.string()),
  /** Present only if it is true. */
  worsened_since_acknowledged: v.optional(v.boolean()),
  stopped_at: v.optional(v.string()),
  stopped_by: v.optional(v.string()),
  /** `PHONE=off` ended the calls. */
  phone_off_at: v.optional(v.string()),
  recipients: v.array(recipient),
});

/** `GET /api/notifications`; `phone` with `attention=true` only. */
const notifications = v.object({
  notifications: v.array(notificationSchema),
  phone: v.optional(v.object({ usable: v.boolean(), since: v.optional(v.string()), reason: v.optional(v.string()) })),
});

/** The body of an error (RFC 9457). */
export const problemSchema = v.object({ detail: v.string(), code: v.optional(v.string()) });

/** The answer of each part of the page, which is polled with its own question. */
export const SCHEMAS = {
  /** The notifications that need attention, and whether the phone works. */
  attention: notifications,
  /** The notifications of the last 24 hours. */
  notifications,
  /** The open notification, if the other answers lack it. */
  opened: notificationSchema,
  /** The cameras that sent frames in the last minutes. */
  recent: activity,
  /** The cameras of the last days. */
  known,
  activity,
  /** The figures of the period before. */
  previous: activity,
  series,
  cameras,
  accuracy: accuracies,
};

export type PartName = keyof typeof SCHEMAS;
export type Answers = { readonly [Name in PartName]: v.InferOutput<(typeof SCHEMAS)[Name]> };
export type CountsPerCategory = Readonly<Record<string, number>>;
export type Activity = Answers['activity'];
export type Series = Answers['series'];
export type CameraCounts = Answers['cameras']['cameras'][number];
export type Accuracy = Answers['accuracy'];
export type Attempt = v.InferOutput<typeof attempt>;
export type Recipient = v.InferOutput<typeof recipient>;
export type Notification = v.InferOutput<typeof notificationSchema>;
