import { z } from 'zod';

import type { EventMessage, Facets } from '../../../src/analytics/model/camera-event.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';

const instant = z.bigint().transform(instantFrom);
const countsFacet = z.object({ value: z.map(z.string(), z.number()), time: instant });
const flagFacet = z.object({ value: z.boolean(), time: instant });
const message = z
  .object({
    eventId: z.string(),
    cameraId: z.string(),
    ts: instant,
    facets: z
      .object({ detections: countsFacet, reviewed: flagFacet, annotations: countsFacet })
      .partial()
      .transform(({ detections, reviewed, annotations }): Facets => ({
        ...(detections && { detections }),
        ...(reviewed && { reviewed }),
        ...(annotations && { annotations }),
      })),
  })
  .transform((parsed): EventMessage => parsed);

/** A task of a sender: record messages, and try again those that were not acknowledged. */
export const jobSchema = z.object({
  connectionString: z.string(),
  table: z.string(),
  counterShards: z.number(),
  /** Deadline of each request to storage, in milliseconds. */
  deadlineMs: z.number(),
  /** Most tries of each batch. */
  attempts: z.number(),
  /** In the order of their sending; each batch is one call of the recorder. */
  batches: z.array(z.array(message)),
});
export type Job = z.infer<typeof jobSchema>;

const outcome = z.union([z.literal('recorded'), z.literal('unchanged'), z.object({ refused: z.string() })]);

/** A message of a sender: a batch (its index in the job) is acknowledged, all is done, or the job failed. */
export const saidSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('acknowledged'), batch: z.number(), outcomes: z.array(outcome) }),
  z.object({ kind: z.literal('done') }),
  z.object({ kind: z.literal('failed'), reason: z.string() }),
]);
export type Said = z.infer<typeof saidSchema>;
