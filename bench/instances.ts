import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

import { CommandError } from '../infra/cli/command-line.ts';
import { dayOf, MICROSECONDS } from '../src/analytics/model/day.ts';
import { type Instant, instantFrom } from '../src/analytics/model/instant.ts';
import type { Rule } from '../test/harness/between.ts';
import { openLoop, record, type Sent, yesterday } from './client.ts';
import { demandAtMost, percentile, report, type ResultRow, rounded, sized } from './measure.ts';
import { type Served, Stage } from './stage.ts';
import { cloudEventOf, frames } from './workload.ts';

/** A load of new frames, one a request, on several instances of the service that share one shard. */
interface Load {
  readonly instances: number;
  /** Of all instances together. */
  readonly eventsPerSecond: number;
  readonly seconds: number;
  /** True if the instances have just started, and the day has no rows. */
  readonly isNewDay: boolean;
}

/** Events a second: the top of the field on two instances, and as much as one core of Azurite answers for more of them. Bounds of the worst p95, in milliseconds. */
const LOADS = [
  { instances: 2, eventsPerSecond: 210, maxMs: 25 },
  { instances: 4, eventsPerSecond: 120, maxMs: 25 },
  { instances: 8, eventsPerSecond: 60, maxMs: 25 },
  { instances: 40, eventsPerSecond: 250, maxMs: 60 },
] as const;
const NEW_DAY = { instances: sized(8, 2), eventsPerSecond: 210, maxMs: 300 };
const NEW_DAY_SECONDS = 5;

const CAMERAS = 200;
/** Round trip between an instance and the tables, added to the time of Azurite, in milliseconds. */
const DELAY_MS = 10;

/** How long the sender waits for missing answers after a load. */
const PATIENCE_MS = 30_000;

/** Requests to each instance before a measurement, one after the other. */
const WARM_UP = 50;

/** A request without an answer has the time until the sender gave up: the least that it can have taken. */
type SentRequest = Sent<{ readonly instance: number; readonly isAcknowledged: boolean }>;

/** Half of the round trip is on the way there, and half on the way back. */
const delayed: Rule = async (_, carryOut) => {
  await sleep(DELAY_MS / 2);
  const answer = await carryOut();
  await sleep(DELAY_MS / 2);
  return answer;
};

/** Sends frames of another day to each instance, so that instances do not conflict. */
const warmUp = async (apps: readonly Served[]): Promise<void> => {
  await Promise.all(
    apps.map(async ({ url }, index) => {
      const start = instantFrom(yesterday() - BigInt(index + 1) * MICROSECONDS.day);
      for (const frame of frames({ cameras: CAMERAS, frames: WARM_UP, step: 20_000n, start }))
        await record(url, [frame]);
    }),
  );
};

/** Sends the load at an even rate. Each instance gets frames of all cameras; the first request of each is due at once on a new day. */
const sendLoad = async (
  apps: readonly Served[],
  { instances, eventsPerSecond, seconds, isNewDay }: Load,
  start: Instant,
): Promise<readonly SentRequest[]> => {
  const step = BigInt(Math.round(1_000_000 / eventsPerSecond));
  const all = frames({ cameras: CAMERAS, frames: Math.max(instances, eventsPerSecond * seconds), step, start });
  const due = all.map((_, index) => (isNewDay && index < instances ? 0 : (index * 1_000) / eventsPerSecond));
  const endMs = (due.at(-1) ?? 0) + PATIENCE_MS;
  return openLoop(due, async (index) => {
    const frame = all[index];
    // Each round of frames begins at the next instance: so the frames of a camera go to all instances.
    const instance = (index + Math.floor(index / instances)) % instances;
    const app = apps[instance];
    if (frame === undefined || app === undefined) throw new RangeError('there is no such request');
    const signal = AbortSignal.timeout(Math.ceil(endMs - (due[index] ?? 0)));
    const body = JSON.stringify([cloudEventOf(frame)]);
    const answer = await fetch(`${app.url}/api/events`, { method: 'POST', body, signal }).catch(() => undefined);
    await answer?.text();
    return { instance, isAcknowledged: answer?.status === 200 };
  });
};

const daySchema = z.object({ total_events: z.int() });

/** @throws {CommandError} if an instance's total of the day is wrong; an event without acknowledgement may be counted or not */
const demandTotal = async ({ url }: Served, start: Instant, sent: readonly SentRequest[]): Promise<void> => {
  const answer = await fetch(`${url}/api/analytics/day?date=${dayOf(start)}`);
  const { total_events: total } = daySchema.parse(await answer.json());
  const least = sent.filter(({ value }) => value.isAcknowledged).length;
  if (total < least || total > sent.length) {
    throw new CommandError(`WRONG total: ${total}, acknowledged ${least} of ${sent.length}`);
  }
};

/** Puts a load on new instances with an empty Azurite. */
const measureLoad = async (load: Load): Promise<ResultRow> =>
  Stage.run(async (stage) => {
    const azurite = await stage.azurite();
    const proxies = await Promise.all(
      Array.from({ length: load.instances }, async () => stage.proxy(azurite, delayed)),
    );
    const apps = await Promise.all(proxies.map(async ({ connectionString }) => stage.serve(connectionString)));
    const storageRequests = (): number => proxies.reduce((sum, { carriedOut }) => sum + carriedOut.length, 0);
    if (!load.isNewDay) await warmUp(apps);
    const start = instantFrom(yesterday() + 12n * MICROSECONDS.hour);
    const before = storageRequests();
    const sent = await sendLoad(apps, load, start);
    const asked = storageRequests() - before;
    for (const app of apps) await demandTotal(app, start, sent);
    const own = apps.map((_, index) => sent.filter(({ value }) => value.instance === index).map(({ ms }) => ms));
    return {
      instances: load.instances,
      'events/s': load.eventsPerSecond,
      'p50, ms': rounded(
        percentile(
          sent.map(({ ms }) => ms),
          0.5,
        ),
        1,
      ),
      'worst p95, ms': rounded(Math.max(...own.map((times) => percentile(times, 0.95))), 1),
      unacknowledged: sent.filter(({ value }) => !value.isAcknowledged).length,
      'storage requests an event': rounded(asked / sent.length),
      // More than a few milliseconds: the machine was too busy to measure.
      'sent late, p99, ms': rounded(
        percentile(
          sent.map(({ lateMs }) => lateMs),
          0.99,
        ),
        1,
      ),
    };
  });

/** Several instances on one shard, against one instance alone with an instance's share of the load. */
export const instancesBench = async (_: Stage, seconds: number): Promise<void> => {
  const rows: ResultRow[] = [];
  const bounds: [what: string, figure: number, bound: number][] = [];
  const measure = async ({ maxMs, ...load }: Load & { readonly maxMs: number }): Promise<void> => {
    const { instances, eventsPerSecond, isNewDay } = load;
    const alone = await measureLoad({ ...load, instances: 1, eventsPerSecond: eventsPerSecond / instances });
    const result = await measureLoad(load);
    const worst = Number(result['worst p95, ms']);
    const day = isNewDay ? 'new' : 'known';
    rows.push({ ...result, day, 'p95 against one alone': rounded(worst / Number(alone['worst p95, ms'])) });
    bounds.push([`Worst p95 of ${instances} instances on a ${day} day, ms`, worst, maxMs]);
  };
  for (const load of LOADS.slice(0, sized(LOADS.length, 1))) await measure({ ...load, seconds, isNewDay: false });
  await measure({ ...NEW_DAY, seconds: Math.min(seconds, NEW_DAY_SECONDS), isNewDay: true });
  report(
    `Several instances, ${CAMERAS} cameras, ${seconds} s, ${DELAY_MS} ms from storage; every total was right`,
    rows,
  );
  for (const bound of bounds) demandAtMost(...bound);
};
