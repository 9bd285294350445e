import { Agent, type ClientRequest, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

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

/** What became of a request. */
export interface SentRequest {
  readonly instance: number;
  readonly events: number;
  /** From when it was due to the end of its answer, or to when the sender gave up. */
  readonly ms: number;
  /** How long after it was due it was sent: more than a few milliseconds shows a machine that is too busy to measure. */
  readonly lateMs: number;
  /** The status of its answer; undefined where none came. */
  readonly status: number | undefined;
}

const answerSchema = z.object({ recorded: z.int(), unchanged: z.int() });

/**
 * Sends each request when it is due, whether or not earlier ones are answered: a slow answer does not slow the sender, and the wait that
 * it causes is in the measurement.
 *
 * @param urls the instances, without a slash at their ends
 * @param patienceMs how long after the last request was due the sender waits for answers that are still missing
 * @throws {Error} where an answer of 200 does not account for every event of its request
 */
export const sendOpenLoop = async (
  urls: readonly string[],
  plan: readonly PlannedRequest[],
  patienceMs: number,
): Promise<readonly SentRequest[]> => {
  const agent = new Agent({ keepAlive: true });
  const underWay = new Set<ClientRequest>();
  const answers: Promise<SentRequest>[] = [];
  const start = performance.now();
  for (const planned of plan) {
    const due = start + planned.dueMs;
    const early = due - performance.now();
    if (early > 0) await sleep(early);
    answers.push(send(`${urls[planned.instance]}/api/events`, planned, due, agent, underWay));
  }
  const givingUp = setTimeout(() => {
    for (const outgoing of underWay) outgoing.destroy();
  }, patienceMs);
  try {
    return await Promise.all(answers);
  } finally {
    clearTimeout(givingUp);
    agent.destroy();
  }
};

const send = async (
  url: string,
  { instance, events, body }: PlannedRequest,
  due: number,
  agent: Agent,
  underWay: Set<ClientRequest>,
): Promise<SentRequest> => {
  const lateMs = performance.now() - due;
  const answer = await post(url, body, agent, underWay);
  const ms = performance.now() - due;
  if (answer?.status === 200) {
    const { recorded, unchanged } = answerSchema.parse(JSON.parse(answer.text));
    if (recorded !== events || unchanged !== 0) {
      throw new Error(`of ${events} new events, ${recorded} were recorded and ${unchanged} were said to be known`);
    }
  }
  return { instance, events, ms, lateMs, status: answer?.status };
};

/** Undefined where no whole answer came. */
const post = (
  url: string,
  body: string,
  agent: Agent,
  underWay: Set<ClientRequest>,
): Promise<{ readonly status: number; readonly text: string } | undefined> =>
  new Promise((resolve) => {
    const headers = { 'content-type': 'application/cloudevents-batch+json', 'content-length': Buffer.byteLength(body) };
    const outgoing = request(url, { method: 'POST', agent, headers });
    underWay.add(outgoing);
    const end = (answer?: { status: number; text: string }): void => {
      underWay.delete(outgoing);
      resolve(answer);
    };
    outgoing.once('error', () => end());
    outgoing.once('response', (response) => {
      buffer(response).then(
        (text) => end({ status: response.statusCode ?? 0, text: text.toString() }),
        () => end(),
      );
    });
    outgoing.end(body);
  });
