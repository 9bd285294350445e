import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

import { bundle } from '../../infra/bundle.ts';
import { CommandError } from '../../infra/command-line.ts';
import { dayOf, MICROSECONDS, startOfDay } from '../../src/analytics/model/day.ts';
import { type Instant, instantFrom, instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { aloneOf, type Cell, describeCell, FULL, SHORT } from './instances/cells.ts';
import type { Load } from './instances/load.ts';
import { type Measured, measureLoad } from './instances/measurement.ts';
import type { SentRequest } from './instances/open-loop.ts';
import { isWrong } from './instances/verdict.ts';
import { percentile, report, rounded, type ResultRow } from './measure.ts';

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

const NEW_DAY_SECONDS = 5;

/** Yesterday: no event is too far ahead, and the day does not change under way. */
const measuredDay = (): Instant =>
  startOfDay(dayOf(instantFrom(instantFromMilliseconds(Date.now()) - MICROSECONDS.day)));

/** Of a request without an answer the time until the sender gave up: the least that it can have taken. */
const latencies = (sent: readonly SentRequest[]) => {
  const took = sent.map(({ ms }) => ms);
  return {
    'p50, ms': rounded(percentile(took, 0.5), 1),
    'p95, ms': rounded(percentile(took, 0.95), 1),
    'p99, ms': rounded(percentile(took, 0.99), 1),
    'longest, ms': rounded(Math.max(...took), 1),
    refused: sent.filter(({ status }) => status !== undefined && status !== 200).length,
    unanswered: sent.filter(({ status }) => status === undefined).length,
  };
};

const lateness = (sent: readonly SentRequest[]): number =>
  rounded(
    percentile(
      sent.map(({ lateMs }) => lateMs),
      0.99,
    ),
    1,
  );

/** One line for each instance. */
const perInstance = ({ sent, verdicts }: Measured): ResultRow[] =>
  verdicts.map((verdict, index) => {
    const own = sent.filter(({ instance }) => instance === index);
    return { requests: own.length, ...latencies(own), 'its total of the day': verdict };
  });

/** What all verdicts say, where they say the same. */
const together = (verdicts: readonly string[]): string => verdicts.find(isWrong) ?? [...new Set(verdicts)].join('; ');

const loads = async (path: string, { isFull, seconds, instances, cameras }: InstancesOptions): Promise<string[]> => {
  const start = instantFrom(measuredDay() + 12n * MICROSECONDS.hour);
  const known = new Map<string, Measured>();
  const measured = async (cell: Cell): Promise<Measured> => {
    const name = describeCell(cell);
    const result =
      known.get(name) ?? (await measureLoad(path, { ...cell, seconds, cameras, start }, cell.delayMs, true));
    known.set(name, result);
    return result;
  };
  const rows: ResultRow[] = [];
  for (const cell of isFull ? FULL : SHORT) {
    if (instances !== undefined && !instances.includes(cell.instances)) continue;
    const alone = await measured(aloneOf(cell));
    const result = await measured(cell);
    report(
      `${describeCell(cell)}, ${seconds} s; a point read takes ${rounded(result.pointReadMs, 1)} ms`,
      perInstance(result),
    );
    const p95s = perInstance(result).map((row) => Number(row['p95, ms']));
    const { refused, unanswered, 'longest, ms': longest } = latencies(result.sent);
    rows.push({
      instances: cell.instances,
      'delay, ms': cell.delayMs,
      'events/s': cell.eventsPerSecond,
      'a request': cell.eventsPerRequest,
      'best p95, ms': Math.min(...p95s),
      'worst p95, ms': Math.max(...p95s),
      'longest, ms': longest,
      refused,
      unanswered,
      'storage requests an event': rounded(result.storageRequestsPerEvent),
      'against one alone': rounded(result.storageRequestsPerEvent / alone.storageRequestsPerEvent),
      totals: together(result.verdicts),
      'sent late, p99, ms': lateness(result.sent),
    });
  }
  report(
    `Several instances, ${cameras} cameras, ${seconds} s; alone: one instance with an instance's share of the load`,
    rows,
  );
  return [...known.values()].flatMap(({ verdicts }) => verdicts);
};

/** The first seconds of a day of which nothing is stored, with the first request of every instance at the same time. */
const newDay = async (path: string, { instances, cameras }: InstancesOptions): Promise<string[]> => {
  const count = instances === undefined ? 8 : Math.max(...instances);
  const load: Load = {
    instances: count,
    eventsPerSecond: 210,
    eventsPerRequest: 1,
    seconds: NEW_DAY_SECONDS,
    cameras,
    start: measuredDay(),
    startsTogether: true,
  };
  const rows: ResultRow[] = [];
  const verdicts: string[] = [];
  for (const isWarm of [true, false]) {
    const result = await measureLoad(path, load, 10, isWarm);
    verdicts.push(...result.verdicts);
    rows.push({
      instances: isWarm ? 'ran before' : 'just started',
      ...latencies(result.sent),
      'storage requests an event': rounded(result.storageRequestsPerEvent),
      totals: together(result.verdicts),
      'sent late, p99, ms': lateness(result.sent),
    });
  }
  report(
    `The first ${NEW_DAY_SECONDS} s of a new day, ${count} instances at once, 10 ms, ${load.eventsPerSecond} events/s, 1 a request`,
    rows,
  );
  return verdicts;
};

/**
 * Several instances of the release bundle on one shard.
 *
 * @throws {CommandError} where an instance's total was wrong
 */
export const instancesBench = async (options: InstancesOptions): Promise<void> => {
  console.log(
    `Load average before: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}. A busy machine measures nothing.`,
  );
  const directory = await mkdtemp(join(tmpdir(), 'bench-instances-'));
  try {
    const outfile = join(directory, 'main.cjs');
    await bundle({ outfile, debug: false });
    const verdicts = [...(await loads(outfile, options)), ...(await newDay(outfile, options))];
    const wrong = verdicts.filter(isWrong);
    if (wrong.length > 0) throw new CommandError(`${wrong.length} of ${verdicts.length} totals were wrong.`);
  } finally {
    await rm(directory, { recursive: true });
  }
};
