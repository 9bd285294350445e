import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

import { CommandError } from '../../infra/command-line.ts';
import { dayOf, MICROSECONDS, startOfDay } from '../../src/analytics/model/day.ts';
import { type Instant, instantFrom } from '../../src/analytics/model/instant.ts';
import type { Rule } from '../harness/between.ts';
import { openLoop, type Sent, yesterday } from './client.ts';
import { bareClient } from './counters.ts';
import { acknowledgedOf, type Answered, isWrong, type Load, planOf, type PlannedRequest, verdictOn } from './load.ts';
import { inTurn, latencies, percentile, report, type ResultRow, rounded } from './measure.ts';
import { type Served, Stage } from './stage.ts';

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

/** One setting: how many instances, the delay of their requests to storage, and the load on all of them together. */
type Cell = Pick<Load, 'instances' | 'eventsPerSecond' | 'eventsPerRequest'> & {
  /** Round trip between an instance and the tables, added to what Azurite takes, in milliseconds. */
  readonly delayMs: number;
};

const cell = (instances: number, delayMs: number, eventsPerSecond: number, eventsPerRequest: number): Cell => ({
  instances,
  delayMs,
  eventsPerSecond,
  eventsPerRequest,
});

const INSTANCES = [1, 2, 4, 8] as const;

/** Events a second: a normal day of the largest camera network, and the top of the field. */
const [NORMAL, TOP] = [25, 210] as const;

const FULL: readonly Cell[] = INSTANCES.flatMap((instances) =>
  [0, 10].flatMap((delayMs) =>
    [NORMAL, TOP].flatMap((rate) => [1, 10].map((size) => cell(instances, delayMs, rate, size))),
  ),
);

/** The settings that are hardest for several instances, and one of each other kind. */
const SHORT: readonly Cell[] = [
  ...INSTANCES.map((instances) => cell(instances, 10, TOP, 1)),
  cell(2, 10, NORMAL, 1),
  cell(8, 10, NORMAL, 1),
  cell(8, 10, TOP, 10),
  cell(8, 0, TOP, 1),
];

/** A setting in words; no two settings have the same. */
const describeCell = ({ instances, delayMs, eventsPerSecond, eventsPerRequest }: Cell): string =>
  `${instances} instance${instances === 1 ? '' : 's'}, ${delayMs} ms, ${eventsPerSecond} events/s, ${eventsPerRequest} a request`;

/** How long the sender waits for missing answers after a load: it bounds the time of a setting that goes badly. */
const PATIENCE_MS = 30_000;

/** Requests to each instance before a measurement, one after the other. */
const WARM_UP = 50;

const POINT_READS = 20;
const NEW_DAY_SECONDS = 5;

/** A request of a load. Of one without an answer the time is that until the sender gave up: the least that it can have taken. */
interface SentRequest extends Answered, Omit<Sent<unknown>, 'value'> {
  readonly instance: number;
}

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
  const sent = await openLoop(due, async (index) => {
    const planned = plan[index];
    const app = apps[planned?.instance ?? 0];
    if (planned === undefined || app === undefined) throw new RangeError('there is no such request');
    const status = await post(app.url, planned, endMs - planned.dueMs);
    return { instance: planned.instance, events: planned.events, status };
  });
  return sent.map(({ value: { instance, events, status }, ms, lateMs }) => ({ instance, events, status, ms, lateMs }));
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

const daySchema = z.object({ total_events: z.int() });

/** The day's events as an instance counts them; undefined if it does not say. */
const totalOf = async (url: string, start: Instant): Promise<number | undefined> => {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(`${url}/api/analytics/day?date=${dayOf(start)}`, { signal }).catch(() => undefined);
  return answer?.status === 200 ? daySchema.parse(await answer.json()).total_events : undefined;
};

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
const measureLoad = async (load: Load, delayMs: number, isWarm: boolean): Promise<Measured> =>
  Stage.run(async (stage) => {
    const azurite = await stage.azurite();
    const proxies = await Promise.all(
      Array.from({ length: load.instances }, async () =>
        stage.proxy(azurite, delayMs === 0 ? undefined : delayed(delayMs)),
      ),
    );
    const apps = await Promise.all(proxies.map(async ({ connectionString }) => stage.serve(connectionString)));
    const storageRequests = (): number => proxies.reduce((sum, { carriedOut }) => sum + carriedOut.length, 0);
    const pointReadMs = await pointRead(proxies[0]?.connectionString ?? azurite);
    if (isWarm) await warmUp(apps, load);
    const plan = planOf(load);
    const before = storageRequests();
    const sent = await sendLoad(apps, plan);
    const storageRequestsPerEvent = (storageRequests() - before) / acknowledgedOf(sent);
    const totals = await Promise.all(apps.map(async ({ url }) => totalOf(url, load.start)));
    return { sent, storageRequestsPerEvent, verdicts: totals.map((total) => verdictOn(total, sent)), pointReadMs };
  });

const columnsOf = (sent: readonly SentRequest[]) => ({
  ...latencies(sent.map(({ ms }) => ms)),
  refused: sent.filter(({ status }) => status !== undefined && status !== 200).length,
  unanswered: sent.filter(({ status }) => status === undefined).length,
});

/** What the verdicts say, each thing once, and how late the sender was. */
const checksOf = ({ sent, verdicts }: Measured) => ({
  totals: verdicts.find(isWrong) ?? [...new Set(verdicts)].join('; '),
  'sent late, p99, ms': latencies(sent.map(({ lateMs }) => lateMs))['p99, ms'],
});

const loads = async ({ isFull, seconds, instances, cameras }: InstancesOptions): Promise<string[]> => {
  const start = instantFrom(yesterday() + 12n * MICROSECONDS.hour);
  const known = new Map<string, Measured>();
  const measured = async (some: Cell): Promise<Measured> => {
    const name = describeCell(some);
    const result = known.get(name) ?? (await measureLoad({ ...some, seconds, cameras, start }, some.delayMs, true));
    known.set(name, result);
    return result;
  };
  const rows: ResultRow[] = [];
  for (const some of isFull ? FULL : SHORT) {
    if (instances !== undefined && !instances.includes(some.instances)) continue;
    const alone = await measured({ ...some, instances: 1, eventsPerSecond: some.eventsPerSecond / some.instances });
    const result = await measured(some);
    const each = result.verdicts.map((verdict, index) => {
      const own = result.sent.filter(({ instance }) => instance === index);
      return { requests: own.length, ...columnsOf(own), 'its total of the day': verdict };
    });
    report(`${describeCell(some)}, ${seconds} s; a point read takes ${rounded(result.pointReadMs, 1)} ms`, each);
    const p95s = each.map((row) => row['p95, ms']);
    const { refused, unanswered, 'longest, ms': longest } = columnsOf(result.sent);
    rows.push({
      instances: some.instances,
      'delay, ms': some.delayMs,
      'events/s': some.eventsPerSecond,
      'a request': some.eventsPerRequest,
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
  return [...known.values()].flatMap(({ verdicts }) => verdicts);
};

/** The first seconds of a day of which nothing is stored, with the first request of every instance at the same time. */
const newDay = async ({ instances = [8], cameras }: InstancesOptions): Promise<string[]> => {
  const count = Math.max(...instances);
  const some = cell(count, 10, TOP, 1);
  const load = { ...some, seconds: NEW_DAY_SECONDS, cameras, start: yesterday(), startsTogether: true };
  const results: Measured[] = [];
  for (const isWarm of [true, false]) results.push(await measureLoad(load, some.delayMs, isWarm));
  report(
    `The first ${NEW_DAY_SECONDS} s of a new day: ${describeCell(some)}`,
    results.map((result, index) => ({
      instances: index === 0 ? 'ran before' : 'just started',
      ...columnsOf(result.sent),
      'storage requests an event': rounded(result.storageRequestsPerEvent),
      ...checksOf(result),
    })),
  );
  return results.flatMap(({ verdicts }) => verdicts);
};

/**
 * Several instances of the release bundle on one shard.
 *
 * @throws {CommandError} if an instance's total was wrong
 */
export const instancesBench = async (options: InstancesOptions): Promise<void> => {
  const load = loadavg().map((average) => average.toFixed(1));
  console.log(`Load average before: ${load.join(', ')}. A busy machine measures nothing.`);
  const verdicts = [...(await loads(options)), ...(await newDay(options))];
  const wrong = verdicts.filter(isWrong);
  if (wrong.length > 0) throw new CommandError(`${wrong.length} of ${verdicts.length} totals were wrong.`);
};
