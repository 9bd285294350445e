/** The steps of `GET /api/analytics/series`, the shortest first. Each starts at a whole multiple of its length, UTC. */
export const STEPS = ['minute', '5_minutes', '10_minutes', '30_minutes', 'hour', '3_hours', '6_hours', 'day'] as const;

export type Step = (typeof STEPS)[number];

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const STEP_MS: Readonly<Record<Step, number>> = {
  minute: 60_000,
  '5_minutes': 300_000,
  '10_minutes': 600_000,
  '30_minutes': 1_800_000,
  hour: HOUR_MS,
  '3_hours': 10_800_000,
  '6_hours': 21_600_000,
  day: DAY_MS,
};

/** A reader cannot tell more bars apart. */
const MOST_STEPS = 120;

/** The shortest step with at most 120 bars: 24 or more between 24 minutes and 120 days. Both ends are included. */
export const seriesStep = (start: number, end: number): Step =>
  STEPS.find((step) => Math.floor(end / STEP_MS[step]) - Math.floor(start / STEP_MS[step]) < MOST_STEPS) ?? 'day';

/** `30_minutes` → `30 minutes`; `day` → `UTC day` */
export const stepText = (step: Step): string => (step === 'day' ? 'UTC day' : step.replace('_', ' '));
