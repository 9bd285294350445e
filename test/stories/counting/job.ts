import { z } from 'zod';

/** What a worker does: records the messages of the day in batches, closes days, or repairs the day. */
export const jobSchema = z.object({
  connectionString: z.string(),
  table: z.string(),
  task: z.enum(['record', 'close', 'repair']),
  /** How far the clock of the process is ahead, in milliseconds; negative if it is behind. */
  clockAheadMs: z.number(),
});
export type Job = z.infer<typeof jobSchema>;
