import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

import { CommandError } from '../infra/cli/command-line.ts';
import { dayOf, MICROSECONDS, startOfDay } from '../src/analytics/model/day.ts';
import { type Instant, instantFrom } from '../src/analytics/model/instant.ts';
import type { Rule } from '../test/harness/between.ts';
import { Chance } from '../test/worlds/chance.ts';
import { openLoop, type Sent, yesterday } from './client.ts';
import { bareClient } from './counters.ts';
import { inTurn, latencies, percentile, report, type ResultRow, rounded } from './measure.ts';
import { type Served, Stage } from './stage.ts';
import { cloudEventOf, frames, requests } from './workload.ts';

/** What of the benchmark to run. */
export interface InstancesOptions {
  /** All settings, in place of a selection. */
  readonly isFull: boolean;
  /** How long the load of a setting lasts. */
  readonly seconds: number;
  /** Only the settings with so many instances. */
  readonly instances?: readonly number[];
  readonly cameras: number;
}

/** A load of new frames on several instances of the service. */
interface Load {
  readonly instances: number;
  /** Round trip between an instance and the tables, added to what Azurite takes, in milliseconds. */
  readonly delayMs: number;
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

type Setting = readonly [instances: number, delayMs: number, eventsPerSecond: number, eventsPerRequest: number];

const INSTANCES = [1, 2, 4, 8] as const;

/** Events a second: a normal day of the largest camera network, and the top of the field. */
const [NORMAL, TOP] = [25, 210] as const;

const FULL: readonly Setting[] = INSTANCES.flatMap((instances) =>
  [0, 10].flatMap((delayMs) =>
    [NORMAL, TOP].flatMap((rate) => [1, 10].map((size): Setting => [instances, delayMs, rate, size])),
  ),
);

/** The settings that are hardest for several instances, and one of each other kind. */
const SHORT: readonly Setting[] = [
  ...INSTANCES.map((instances): Setting => [instances, 10, TOP, 1]),
  [2, 10, NORMAL, 1],
  [8, 10, NORMAL, 1],
  [8, 10, TOP, 10],
  [8, 0, TOP, 1],
];

const inWords = ({ instances, delayMs, eventsPerSecond, eventsPerRequest }: Load): string =>
  `${instances} instance${instances === 1 ? '' : 's'}, ${delayMs} ms, ${eventsPerSecond} events/s, ${eventsPerRequest} a request`;

/** How long the sender waits for missing answers after a load: it bounds the time of a setting that goes badly. */
const PATIENCE_MS = 30_000;

/** Requests to each instance before a measurement, one after the other. */
const WARM_UP = 50;

const POINT_READS = 20;
const NEW_DAY_SECONDS = 5;

interface PlannedRequest {
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
const planOf = (load: Load): readonly PlannedRequest[] => {
  const { instances, eventsPerSecond, eventsPerRequest, seconds, cameras, start, startsTogether = false } = load;
  const count = Math.max(instances, Math.round((eventsPerSecond * seconds) / eventsPerRequest));
  const step = BigInt(Math.round(1_000_000 / eventsPerSecond));
  const chance = new Chance('instances');
  const everyInstance = Array.from({ length: instances }, (_, instance) => instance);
  let round: number[] = [];
  const all = frames({ cameras, frames: count * eventsPerRequest, step, start });
  return requests(all, eventsPerRequest).map((batch, index) => {
    if (round.length === 0) round = chance.shuffled(everyInstance);
    return {
      dueMs: startsTogether && index < instances ? 0 : (index * eventsPerRequest * 1_000) / eventsPerSecond,
      instance: round.pop() ?? 0,
      events: batch.length,
      body: JSON.stringify(batch.map(cloudEventOf)),
    };
  });
};

/** A request that was sent. Of one without an answer the time is that until the sender gave up: the least that it can have taken. */
type SentRequest = Sent<Pick<PlannedRequest, 'instance' | 'events'> & { readonly status: number | undefined }>;

const answerSchema = z.object({ recorded: z.int(), unchanged: z.int() });

/** The status of the answer; undefined if none came in time. @throws {Error} if an acknowledgement does not account for every event */
const post = async (url: string, { body, events }: PlannedRequest, withinMs: number): Promise<number | undefined> => {
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  const signal = AbortSignal.timeout(Math.ceil(withinMs));
  const answer = await fetch(`${url}/api/events`, { method: 'POST', headers, body, signal })
    .then(async (response) => ({ status: response.status, text: await response.text() }))
    .catch(() => undefined);
  if (answer?.status !== 200) return answer?.status;
  const { recorded, unchanged } = answerSchema.parse(JSON.parse(answer.text));
  if (recorded === events && unchanged === 0) return 200;
  throw new Error(`of ${events} new events, ${recorded} were recorded and ${unchanged} were said to be known`);
};

const sendLoad = async (apps: readonly Served[], plan: readonly PlannedRequest[]): Promise<readonly SentRequest[]> => {
  const due = plan.map(({ dueMs }) => dueMs);
  const endMs = (due.at(-1) ?? 0) + PATIENCE_MS;
  return openLoop(due, async (index) => {
    const planned = plan[index];
    const app = apps[planned?.instance ?? 0];
    if (planned === undefined || app === undefined) throw new RangeError('there is no such request');
    const status = await post(app.url, planned, endMs - planned.dueMs);
    return { instance: planned.instance, events: planned.events, status };
  });
};

/** Makes each instance run for a while on a day of its own, so that none meets another. */
const warmUp = async (apps: readonly Served[], load: Load): Promise<void> => {
  await Promise.all(
    apps.map(async ({ url }, index) => {
      const start = instantFrom(startOfDay(dayOf(load.start)) - BigInt(index + 1) * MICROSECONDS.day);
      const plan = planOf({ ...load, start, instances: 1, eventsPerSecond: WARM_UP, eventsPerRequest: 1, seconds: 1 });
      for (const planned of plan) await post(url, planned, PATIENCE_MS);
    }),
  );
};

const acknowledgedOf = (sent: readonly SentRequest[]): number =>
  sent.reduce((sum, { value: { events, status } }) => sum + (status === 200 ? events : 0), 0);

const daySchema = z.object({ total_events: z.int() });

/** How the verdict on a wrong total begins. */
const WRONG = 'WRONG';

/** Whether an instance's total of the day is right. Events that were not acknowledged may be counted or not: nothing promises either. */
const verdictOn = async ({ url }: Served, { start }: Load, sent: readonly SentRequest[]): Promise<string> => {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(`${url}/api/analytics/day?date=${dayOf(start)}`, { signal }).catch(() => undefined);
  if (answer?.status !== 200) return 'no answer';
  const { total_events: total } = daySchema.parse(await answer.json());
  const [least, most] = [acknowledgedOf(sent), sent.reduce((sum, { value: { events } }) => sum + events, 0)];
  if (total < least || total > most) return `${WRONG}: ${total}, acknowledged ${least} of ${most}`;
  return least === most ? 'exact' : `${total}, acknowledged ${least} of ${most}`;
};

/** What a load on several instances came to. */
interface Measured {
  readonly sent: readonly SentRequest[];
  /** Of the acknowledged events. */
  readonly storageRequestsPerEvent: number;
  /** What each instance says about its total, right after the load. */
  readonly verdicts: readonly string[];
  /** What one point read through a proxy takes, p50: nothing that an instance does can take less. */
  readonly pointReadMs: number;
}

const pointRead = async (connectionString: string): Promise<number> => {
  const table = bareClient(connectionString, 'baseline');
  await table.createTable();
  await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
  const [took = []] = await inTurn(POINT_READS, async () => table.getEntity('p', 'r'));
  return percentile(took, 0.5);
};

/** Half of the round trip on the way there, and half on the way back. */
const delayed =
  (delayMs: number): Rule =>
  async (_, carryOut) => {
    await sleep(delayMs / 2);
    const answer = await carryOut();
    await sleep(delayMs / 2);
    return answer;
  };

/** Puts a load on instances of their own, with an empty Azurite; `isWarm`: they have run before, on other days. */
const measureLoad = async (load: Load, isWarm: boolean): Promise<Measured> =>
  Stage.run(async (stage) => {
    const { instances, delayMs } = load;
    const azurite = await stage.azurite();
    const rule = delayMs === 0 ? undefined : delayed(delayMs);
    const proxies = await Promise.all(Array.from({ length: instances }, async () => stage.proxy(azurite, rule)));
    const apps = await Promise.all(proxies.map(async ({ connectionString }) => stage.serve(connectionString)));
    const storageRequests = (): number => proxies.reduce((sum, { carriedOut }) => sum + carriedOut.length, 0);
    const pointReadMs = await pointRead(proxies[0]?.connectionString ?? azurite);
    if (isWarm) await warmUp(apps, load);
    const plan = planOf(load);
    const before = storageRequests();
    const sent = await sendLoad(apps, plan);
    const storageRequestsPerEvent = (storageRequests() - before) / acknowledgedOf(sent);
    const verdicts = await Promise.all(apps.map(async (app) => verdictOn(app, load, sent)));
    return { sent, storageRequestsPerEvent, verdicts, pointReadMs };
  });

const columnsOf = (sent: readonly SentRequest[]) => ({
  ...latencies(sent.map(({ ms }) => ms)),
  refused: sent.filter(({ value: { status } }) => status !== undefined && status !== 200).length,
  unanswered: sent.filter(({ value: { status } }) => status === undefined).length,
});

/** What the verdicts say, each thing once, and how late the sender was. */
const checksOf = ({ sent, verdicts }: Measured) => ({
  totals: verdicts.find((verdict) => verdict.startsWith(WRONG)) ?? [...new Set(verdicts)].join('; '),
  'sent late, p99, ms': latencies(sent.map(({ lateMs }) => lateMs))['p99, ms'],
});

const loads = async ({ isFull, seconds, instances: only, cameras }: InstancesOptions): Promise<readonly Measured[]> => {
  const start = instantFrom(yesterday() + 12n * MICROSECONDS.hour);
  const known = new Map<string, Measured>();
  const measured = async (load: Load): Promise<Measured> => {
    const result = known.get(inWords(load)) ?? (await measureLoad(load, true));
    known.set(inWords(load), result);
    return result;
  };
  const rows: ResultRow[] = [];
  for (const [instances, delayMs, eventsPerSecond, eventsPerRequest] of isFull ? FULL : SHORT) {
    if (only !== undefined && !only.includes(instances)) continue;
    const load = { instances, delayMs, eventsPerSecond, eventsPerRequest, seconds, cameras, start };
    const alone = await measured({ ...load, instances: 1, eventsPerSecond: eventsPerSecond / instances });
    const result = await measured(load);
    const each = result.verdicts.map((verdict, index) => {
      const own = result.sent.filter(({ value: { instance } }) => instance === index);
      return { requests: own.length, ...columnsOf(own), 'its total of the day': verdict };
    });
    report(`${inWords(load)}, ${seconds} s; a point read takes ${rounded(result.pointReadMs, 1)} ms`, each);
    const p95s = each.map((row) => row['p95, ms']);
    const { refused, unanswered, 'longest, ms': longest } = columnsOf(result.sent);
    rows.push({
      instances,
      'delay, ms': delayMs,
      'events/s': eventsPerSecond,
      'a request': eventsPerRequest,
      'best p95, ms': Math.min(...p95s),
      'worst p95, ms': Math.max(...p95s),
      'longest, ms': longest,
      refused,
      unanswered,
      'storage requests an event': rounded(result.storageRequestsPerEvent),
      'against one alone': rounded(result.storageRequestsPerEvent / alone.storageRequestsPerEvent),
      ...checksOf(result),
    });
  }
  report(
    `Several instances, ${cameras} cameras, ${seconds} s; alone: one instance with an instance's share of the load`,
    rows,
  );
  return [...known.values()];
};

/** The first seconds of a day of which nothing is stored, with the first request of every instance at the same time. */
const newDay = async ({ instances = [8], cameras }: InstancesOptions): Promise<readonly Measured[]> => {
  const rate = { eventsPerSecond: TOP, eventsPerRequest: 1, seconds: NEW_DAY_SECONDS, startsTogether: true };
  const load = { instances: Math.max(...instances), delayMs: 10, cameras, start: yesterday(), ...rate };
  const results = [await measureLoad(load, true), await measureLoad(load, false)];
  report(
    `The first ${NEW_DAY_SECONDS} s of a new day: ${inWords(load)}`,
    results.map((result, index) => ({
      instances: index === 0 ? 'ran before' : 'just started',
      ...columnsOf(result.sent),
      'storage requests an event': rounded(result.storageRequestsPerEvent),
      ...checksOf(result),
    })),
  );
  return results;
};

/**
 * Several instances of the release bundle on one shard.
 *
 * @throws {CommandError} if an instance's total was wrong
 */
export const instancesBench = async (options: InstancesOptions): Promise<void> => {
  const load = loadavg().map((average) => average.toFixed(1));
  console.log(`Load average before: ${load.join(', ')}. A busy machine measures nothing.`);
  const measured = [...(await loads(options)), ...(await newDay(options))];
  const verdicts = measured.flatMap((one) => one.verdicts);
  const wrong = verdicts.filter((verdict) => verdict.startsWith(WRONG)).length;
  if (wrong > 0) throw new CommandError(`${wrong} of ${verdicts.length} totals were wrong.`);
};
