import type { Instant } from '../../src/analytics/model/instant.ts';
import { Chance } from '../worlds/chance.ts';
import { cloudEventOf, frames, requests } from './workload.ts';

/** A load of new frames on several instances of the service. */
export interface Load {
  readonly instances: number;
  /** Of all instances together. */
  readonly eventsPerSecond: number;
  readonly eventsPerRequest: number;
  readonly seconds: number;
  readonly cameras: number;
  /** When the first frame was taken; the others follow at the rate at which they are sent. */
  readonly start: Instant;
  /** True if the first request of every instance is due at the same time. */
  readonly startsTogether?: boolean;
}

/** A request to send at a certain time. */
export interface PlannedRequest {
  /** Milliseconds after the start of the load. */
  readonly dueMs: number;
  /** The index of the instance that gets it. */
  readonly instance: number;
  /** How many events are in it; each is sent only once in a load. */
  readonly events: number;
  readonly body: string;
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

/** A request of a load: how many events it had, and the status of its answer; undefined if none came. */
export interface Answered {
  readonly events: number;
  readonly status: number | undefined;
}

/** How many events were acknowledged. */
export const acknowledgedOf = (sent: readonly Answered[]): number =>
  sent.reduce((sum, { events, status }) => sum + (status === 200 ? events : 0), 0);

/**
 * Whether a total is right. Events that were not acknowledged may be counted or not: nothing promises either.
 *
 * @param total undefined if the instance did not say it
 */
export const verdictOn = (total: number | undefined, sent: readonly Answered[]): string => {
  const [least, most] = [acknowledgedOf(sent), sent.reduce((sum, { events }) => sum + events, 0)];
  if (total === undefined) return 'no answer';
  if (total < least || total > most) return `WRONG: ${total}, acknowledged ${least} of ${most}`;
  return least === most ? 'exact' : `${total}, acknowledged ${least} of ${most}`;
};

/** Whether a verdict says that a total is wrong. */
export const isWrong = (verdict: string): boolean => verdict.startsWith('WRONG');
