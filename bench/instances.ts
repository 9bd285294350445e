import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

import { CommandError } from '../infra/cli/command-line.ts';
import type { EventMessage } from '../src/analytics/model/camera-event.ts';
import { type Day, dayOf, endOfDay, MICROSECONDS, startOfDay } from '../src/analytics/model/day.ts';
import { type Instant, instantFrom } from '../src/analytics/model/instant.ts';
import type { Rule } from '../test/harness/between.ts';
import { openLoop, type Sent, yesterday } from './client.ts';
import { countersOn } from './counters.ts';
import { type Bound, demandAtMost, percentile, report, type ResultRow, rounded, sized } from './measure.ts';
import { type Served, Stage } from './stage.ts';
import { cloudEventOf, frames } from './workload.ts';

/** A load of new frames, one a request, on several instances of the service that share one shard. */
interface Load {
  readonly instances: number;
  /** The total of all instances. */
  readonly eventsPerSecond: number;
  readonly seconds: number;
  /** `known`: the instances have recorded it before; `new`: they have recorded the day before; `first`: they have just started. */
  readonly day: 'known' | 'new' | 'first';
  /** Where the instances are: each in a process of the service, or all as recorders in this process, without HTTP before them. */
  readonly as: 'processes' | 'recorders';
}

/**
 * Events a second: the top of the field on two instances, and as much as one core of Azurite answers for more of them. Bounds of the worst p95, in
 * milliseconds. Forty processes would wait for the two cores of a usual machine, and not for one another.
 */
const LOADS = [
  { instances: 2, eventsPerSecond: 210, maxMs: 60, day: 'known', as: 'processes' },
  { instances: 4, eventsPerSecond: 120, maxMs: 60, day: 'known', as: 'processes' },
  { instances: 8, eventsPerSecond: 60, maxMs: 60, day: 'known', as: 'processes' },
  { instances: 40, eventsPerSecond: 250, maxMs: 100, day: 'known', as: 'recorders' },
  { instances: sized(8, 2), eventsPerSecond: 210, maxMs: 600, day: 'new', as: 'processes' },
  { instances: sized(8, 2), eventsPerSecond: 210, maxMs: 1000, day: 'first', as: 'processes' },
] as const;
/** On a new day, the first seconds are measured. */
const NEW_DAY_SECONDS = 5;

const CAMERAS = 200;
/** Round trip between an instance and the tables, added to the time of Azurite, in milliseconds. */
const DELAY_MS = 10;

/** How long the sender waits for missing answers after a load. */
const PATIENCE_MS = 30_000;

/** Requests to each instance before a measurement, one after the other. */
const WARM_UP = 50;

/** The start of the frames of a load. */
const noon = (): Instant => instantFrom(yesterday() + 12n * MICROSECONDS.hour);

const dayBefore = (): Instant => instantFrom(yesterday() - MICROSECONDS.day);

/** A request without an answer has the time until the sender gave up: the least that it can have taken. */
type SentRequest = Sent<{ readonly instance: number; readonly isAcknowledged: boolean }>;

/** Half of the round trip is on the way there, and half on the way back. */
const delayed: Rule = async (_, carryOut) => {
  await sleep(DELAY_MS / 2);
  const answer = await carryOut();
  await sleep(DELAY_MS / 2);
  return answer;
};

/** An instance of the service. */
interface Instance {
  /** @returns whether the frame was acknowledged */
  readonly send: (frame: EventMessage, signal: AbortSignal) => Promise<boolean>;
  /** How many events it says that a day has. */
  readonly total: (day: Day) => Promise<number>;
}

const daySchema = z.object({ total_events: z.int() });

const servedInstance = ({ url }: Served): Instance => ({
  send: async (frame, signal) => {
    const body = JSON.stringify([cloudEventOf(frame)]);
    const answer = await fetch(`${url}/api/events`, { method: 'POST', body, signal }).catch(() => undefined);
    await answer?.text();
    return answer?.status === 200;
  },
  total: async (day) => {
    const answer = await fetch(`${url}/api/analytics/day?date=${day}`);
    return daySchema.parse(await answer.json()).total_events;
  },
});

const recorderInstance = (connectionString: string): Instance => {
  const { recorder, reader } = countersOn(connectionString, '');
  return {
    send: async (frame) =>
      recorder.record([frame]).then(
        () => true,
        () => false,
      ),
    total: async (day) => (await reader.activity({ start: startOfDay(day), end: endOfDay(day) })).tally.events,
  };
};

/** Sends frames of a day to each instance. */
const warmUp = async (instances: readonly Instance[], day: Instant): Promise<void> => {
  await Promise.all(
    instances.map(async ({ send }, index) => {
      const start = instantFrom(day + BigInt(index) * MICROSECONDS.minute);
      for (const frame of frames({ cameras: CAMERAS, frames: WARM_UP, step: 20_000n, start })) {
        await send(frame, AbortSignal.timeout(PATIENCE_MS));
      }
    }),
  );
};

/** Sends the load at an even rate. Each instance gets frames of all cameras; on a day that is not known, the first request of each is due at once. */
const sendLoad = async (
  { instances: count, eventsPerSecond, seconds, day }: Load,
  instances: readonly Instance[],
): Promise<readonly SentRequest[]> => {
  const step = BigInt(Math.round(1_000_000 / eventsPerSecond));
  const all = frames({ cameras: CAMERAS, frames: Math.max(count, eventsPerSecond * seconds), step, start: noon() });
  const due = all.map((_, index) => (day !== 'known' && index < count ? 0 : (index * 1_000) / eventsPerSecond));
  const endMs = (due.at(-1) ?? 0) + PATIENCE_MS;
  return openLoop(due, async (index) => {
    const frame = all[index];
    // Each round of frames begins one instance further, so that no camera stays with one instance.
    const number = (index + Math.floor(index / count)) % count;
    const instance = instances[number];
    if (frame === undefined || instance === undefined) throw new RangeError('there is no such request');
    const signal = AbortSignal.timeout(Math.ceil(endMs - (due[index] ?? 0)));
    return { instance: number, isAcknowledged: await instance.send(frame, signal) };
  });
};

/**
 * @param before how many events the day had before the load
 * @throws {CommandError} if an instance's total of the day is wrong; an event without acknowledgement may be counted or not
 */
const demandTotal = async (instance: Instance, before: number, sent: readonly SentRequest[]): Promise<void> => {
  const total = (await instance.total(dayOf(noon()))) - before;
  const least = sent.filter(({ value }) => value.isAcknowledged).length;
  if (total < least || total > sent.length) {
    throw new CommandError(`WRONG total: ${total}, acknowledged ${least} of ${sent.length}`);
  }
};

/** The 95th percentile of the instance with the greatest, in milliseconds. */
const worstP95 = (sent: readonly SentRequest[]): number => {
  const byInstance = Map.groupBy(sent, ({ value }) => value.instance).values();
  const p95s = Array.from(byInstance, (requests) =>
    percentile(
      requests.map(({ ms }) => ms),
      0.95,
    ),
  );
  return rounded(Math.max(...p95s), 1);
};

/** Puts a load on new instances. */
const measureLoad = async (load: Load): Promise<ResultRow> =>
  Stage.run(async (stage) => {
    const azurite = await stage.azurite();
    const proxies = await Promise.all(
      Array.from({ length: load.instances }, async () => stage.proxy(azurite, delayed)),
    );
    const instances = await Promise.all(
      proxies.map(async ({ connectionString }) =>
        load.as === 'recorders'
          ? recorderInstance(connectionString)
          : servedInstance(await stage.serve(connectionString)),
      ),
    );
    const { day } = load;
    if (day !== 'first') await warmUp(instances, day === 'known' ? yesterday() : dayBefore());
    const events = day === 'known' ? WARM_UP * load.instances : 0;
    const storageRequests = (): number => proxies.reduce((sum, { carriedOut }) => sum + carriedOut.length, 0);
    const before = storageRequests();
    const sent = await sendLoad(load, instances);
    const asked = storageRequests() - before;
    for (const instance of instances) await demandTotal(instance, events, sent);
    return {
      instances: `${load.instances} ${load.as}`,
      day,
      'events/s': load.eventsPerSecond,
      'p50, ms': rounded(
        percentile(
          sent.map(({ ms }) => ms),
          0.5,
        ),
        1,
      ),
      'worst p95, ms': worstP95(sent),
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

/** Several instances on one shard. */
export const instancesBench = async (_: Stage, seconds: number): Promise<void> => {
  const rows: ResultRow[] = [];
  const bounds: Bound[] = [];
  const measure = async ({ maxMs, ...load }: Load & { readonly maxMs: number }): Promise<void> => {
    const row = await measureLoad(load);
    rows.push(row);
    bounds.push([`Worst p95 of ${row['instances']} on a ${row['day']} day, ms`, Number(row['worst p95, ms']), maxMs]);
  };
  for (const load of LOADS.filter(({ instances }) => instances <= sized(Infinity, 2))) {
    await measure({ ...load, seconds: load.day === 'known' ? seconds : Math.min(seconds, NEW_DAY_SECONDS) });
  }
  report(
    `Several instances, ${CAMERAS} cameras, ${seconds} s, ${DELAY_MS} ms from storage; every total was right`,
    rows,
  );
  demandAtMost(...bounds);
};
