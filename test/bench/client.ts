import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import type { EventMessage } from '../../src/analytics/model/camera-event.ts';
import { dayOf, MICROSECONDS, startOfDay } from '../../src/analytics/model/day.ts';
import {
  formatInstant,
  type Instant,
  instantFrom,
  instantFromMilliseconds,
} from '../../src/analytics/model/instant.ts';
import { rounded } from './measure.ts';
import { cloudEventOf } from './workload.ts';

/** The start of yesterday: no event is too far ahead, and the day does not change under way. */
export const yesterday = (): Instant =>
  startOfDay(dayOf(instantFrom(instantFromMilliseconds(Date.now()) - MICROSECONDS.day)));

/** The query for the activity from one instant to another. */
export const rangeQuery = (start: bigint, end: bigint): string =>
  new URLSearchParams({
    ts_utc_start: formatInstant(instantFrom(start)),
    ts_utc_end: formatInstant(instantFrom(end)),
  }).toString();

/** Sends a request that must be answered as it should, and gives the size of the answer in bytes. @throws {Error} with what was answered instead */
export const ask = async (url: string, init: RequestInit = {}, status = 200): Promise<number> => {
  const answer = await fetch(url, init);
  const body = await answer.text();
  if (answer.status !== status) throw new Error(`${url} answered ${answer.status}: ${body}`);
  return Buffer.byteLength(body);
};

/** Records some frames by one request. */
export const record = async (url: string, messages: readonly EventMessage[]): Promise<unknown> =>
  ask(`${url}/api/events`, { method: 'POST', body: JSON.stringify(messages.map(cloudEventOf)) });

/** How long a process had a processor so far, in milliseconds. @throws on systems without `/proc` */
const cpuMs = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // User and system time are fields 14 and 15 of proc(5), in clock ticks of 10 ms. The name before them may have spaces.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return 10 * (Number(user) + Number(system));
};

/** The CPU that a process takes while something runs, in milliseconds for each of so many; known on Linux only. */
export const cpuOf = async (pid: number, count: number, run: () => Promise<unknown>): Promise<number | string> => {
  const before = await cpuMs(pid).catch(() => undefined);
  await run();
  return before === undefined ? 'not known' : rounded(((await cpuMs(pid)) - before) / count, 3);
};

/** What became of something that was sent. */
export interface Sent<Value> {
  /** From when it was due to the end of its answer. */
  readonly ms: number;
  /** How long after it was due it was sent: more than a few milliseconds shows a machine that is too busy to measure. */
  readonly lateMs: number;
  readonly value: Value;
}

/**
 * Sends when it is due, whether or not earlier ones are answered: a slow answer does not slow the sender, and the wait that it causes is in
 * the measurement.
 *
 * @param dueMs when, in milliseconds after the start, in order
 */
export const openLoop = async <Value>(
  dueMs: readonly number[],
  send: (index: number) => Promise<Value>,
): Promise<readonly Sent<Value>[]> => {
  const start = performance.now();
  const sent: Promise<Sent<Value>>[] = [];
  for (const [index, due] of dueMs.entries()) {
    const early = start + due - performance.now();
    if (early > 0) await sleep(early);
    const lateMs = performance.now() - start - due;
    sent.push(send(index).then((value) => ({ ms: performance.now() - start - due, lateMs, value })));
  }
  return Promise.all(sent);
};

/** Sends so many times, evenly over the seconds; how long each took from when it was due, in milliseconds. */
export const evenly = async (
  times: number,
  seconds: number,
  send: (index: number) => Promise<unknown>,
): Promise<number[]> => {
  const due = Array.from({ length: times }, (_, index) => (index * seconds * 1_000) / times);
  return (await openLoop(due, send)).map(({ ms }) => ms);
};
