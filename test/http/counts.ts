import { z } from 'zod';

const counts = z.record(z.string(), z.number());

/** The counts that every answer about activity has. */
export const COUNTS = {
  total_events: z.number(),
  counts_per_category: counts,
  reviewed_total_events: z.number(),
  reviewed_counts_per_category: counts,
  annotated_total_events: z.number(),
  annotated_counts_per_category: counts,
};
