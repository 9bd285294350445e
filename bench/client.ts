import { setTimeout as sleep } from 'node:timers/promises';

import type { EventMessage } from '../src/analytics/model/camera-event.ts';
import { dayOf, MICROSECONDS, startOfDay } from '../src/analytics/model/day.ts';
import { type Instant, instantFrom, instantFromMilliseconds } from '../src/analytics/model/instant.ts';
import { moved } from './movement.ts';
import { cloudEventOf } from './workload.ts';

/** The start of yesterday: no event is too far ahead, and the day does not change under way. */
export const yesterday = (): Instant =>
  startOfDay(dayOf(instantFrom(instantFromMilliseconds(Date.now()) - MICROSECONDS.day)));

/** Sends a request that must be answered with this status. @throws {Error} with the answer, if it has another status */
export const ask = async (url: string, init: RequestInit = {}, status = 200): Promise<void> => {
  const answer = await fetch(url, init);
  const body = await answer.text();
  moved();
  if (answer.status !== status) throw new Error(`${url} answered ${answer.status}: ${body}`);
};

/** Records some frames by one request. */
export const record = async (url: string, messages: readonly EventMessage[]): Promise<unknown> =>
  ask(`${url}/api/events`, { method: 'POST', body: JSON.stringify(messages.map(cloudEventOf)) });

/** The result of a request. */
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
    sent.push(
      send(index).then((value) => {
        moved();
        return { ms: performance.now() - start - due, lateMs, value };
      }),
    );
  }
  return Promise.all(sent);
};
