import { type Instant } from '../../../src/analytics/model/instant.ts';
import { Chance } from '../../worlds/chance.ts';
import { cloudEventOf, frames, requests } from '../workload.ts';
import type { PlannedRequest } from './open-loop.ts';

/** A load of new frames. */
export interface Load {
  readonly instances: number;
  /** Of all instances together. */
  readonly eventsPerSecond: number;
  readonly eventsPerRequest: number;
  readonly seconds: number;
  readonly cameras: number;
  /** When the first frame was taken; the others follow at the rate at which they are sent. */
  readonly start: Instant;
  /** True where the first request of every instance is due at the same time. */
  readonly startsTogether?: boolean;
}

/**
 * When which request goes to which instance: at an even rate, and evenly over the instances. Of each run of as many requests as there are
 * instances, every instance gets one, in an order by chance, so that each gets frames of all cameras.
 */
export const planOf = (load: Load): readonly PlannedRequest[] => {
  const { instances, eventsPerSecond, eventsPerRequest, seconds, cameras, start, startsTogether = false } = load;
  const count = Math.max(instances, Math.round((eventsPerSecond * seconds) / eventsPerRequest));
  const step = BigInt(Math.round(1_000_000 / eventsPerSecond));
  const batches = requests(frames({ cameras, frames: count * eventsPerRequest, step, start }), eventsPerRequest);
  const chance = new Chance('instances');
  const everyInstance = Array.from({ length: instances }, (_, instance) => instance);
  let round: number[] = [];
  return batches.map((batch, index) => {
    if (round.length === 0) round = chance.shuffled(everyInstance);
    return {
      dueMs: startsTogether && index < instances ? 0 : (index * eventsPerRequest * 1_000) / eventsPerSecond,
      instance: round.pop() ?? 0,
      events: batch.length,
      body: JSON.stringify(batch.map(cloudEventOf)),
    };
  });
};
