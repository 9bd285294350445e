import { z } from 'zod';

import { dayOf, MICROSECONDS, startOfDay } from '../../../src/analytics/model/day.ts';
import { type Instant, instantFrom } from '../../../src/analytics/model/instant.ts';
import { Fleet } from './fleet.ts';
import { type Load, planOf } from './load.ts';
import { sendOpenLoop, type SentRequest } from './open-loop.ts';
import { acknowledgedOf, verdictOn } from './verdict.ts';

/** How long the sender waits for missing answers after a load: it bounds the time of a setting that goes badly. */
const PATIENCE_MS = 30_000;

/** Requests to each instance before a measurement, one after the other. */
const WARM_UP = 50;

/** What a load on several instances came to. */
export interface Measured {
  readonly sent: readonly SentRequest[];
  /** Of the acknowledged events. */
  readonly storageRequestsPerEvent: number;
  /** What each instance says about its total, right after the load. */
  readonly verdicts: readonly string[];
  /** See {@link Fleet.pointReadMs}. */
  readonly pointReadMs: number;
}

const daySchema = z.object({ total_events: z.int() });

/** The day's events as an instance counts them; undefined where it does not say. */
const totalOf = async (url: string, start: Instant): Promise<number | undefined> => {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(`${url}/api/analytics/day?date=${dayOf(start)}`, { signal }).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  return daySchema.parse(await answer.json()).total_events;
};

/** Makes each instance run for a while on a day of its own, so that none meets another. */
const warmUp = async (fleet: Fleet, load: Load): Promise<void> => {
  await Promise.all(
    fleet.urls.map(async (url, index) => {
      const start = instantFrom(startOfDay(dayOf(load.start)) - BigInt(index + 1) * MICROSECONDS.day);
      const plan = planOf({ ...load, start, instances: 1, eventsPerSecond: WARM_UP, eventsPerRequest: 1, seconds: 1 });
      for (const planned of plan) await sendOpenLoop([url], [{ ...planned, dueMs: 0 }], PATIENCE_MS);
    }),
  );
};

/**
 * Puts a load on instances of their own, with an empty Azurite.
 *
 * @param path the bundle
 * @param isWarm whether the instances have run before, on other days
 */
export const measureLoad = async (path: string, load: Load, delayMs: number, isWarm: boolean): Promise<Measured> => {
  const fleet = await Fleet.start({ bundle: path, instances: load.instances, delayMs });
  try {
    const pointReadMs = await fleet.pointReadMs();
    if (isWarm) await warmUp(fleet, load);
    const plan = planOf(load);
    const before = fleet.storageRequests;
    const sent = await sendOpenLoop(fleet.urls, plan, PATIENCE_MS);
    const storageRequestsPerEvent = (fleet.storageRequests - before) / acknowledgedOf(sent);
    const totals = await Promise.all(fleet.urls.map(async (url) => totalOf(url, load.start)));
    return {
      sent,
      storageRequestsPerEvent,
      verdicts: totals.map((total) => verdictOn(total, sent)),
      pointReadMs,
    };
  } finally {
    await fleet.kill();
  }
};
