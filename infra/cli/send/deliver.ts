// The module, not its function: tests replace the function `setTimeout` in it.
import timers from 'node:timers/promises';

import { z } from 'zod';

import { DayClosed } from '../../../src/analytics/errors.ts';
import { retryAfterMs } from '../../../src/retry-after.ts';
import { jsonIn } from '../json.ts';
import type { Item } from './items.ts';
import { stoppedError, type Target } from './options.ts';

/** The answer of the service for some events. */
export interface Outcome {
  readonly recorded: number;
  readonly unchanged: number;
  /** The refused events, each with the reason. */
  readonly refused: ReadonlyMap<Item, string>;
}

export interface Sending {
  readonly target: Target;
  /** Whether all events are of one day: then the first event that is refused for its closed day ends the sending. */
  readonly isOfOneDay?: boolean;
  /** How long one request may fail in a row. */
  readonly giveUpAfterMs: number;
  /** Ends the sending after the requests in flight; its reason is thrown. */
  readonly stop: AbortSignal;
  /** Tells the operator the reason of a wait. */
  readonly note: (text: string) => void;
}

/** The first wait after a failure, and the longest, in milliseconds. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** Requests that waited together start again spread over this part of the wait. */
const SPREAD = 0.25;

/**
 * Sends events until the service has answered for each of them. It retries failed requests, and halves requests that are too large. All requests
 * wait together, to take load off a service in trouble: as long as `Retry-After` asks, otherwise longer with each failure.
 */
export class Delivery {
  readonly #sending: Sending;
  #failures = 0;
  #pausedUntil = 0;

  constructor(sending: Sending) {
    this.#sending = sending;
  }

  /**
   * Delivers events without faults.
   *
   * @throws {CommandError} if the sending ends early: none, some or all of them may be recorded
   * @throws {DayClosed}
   */
  async deliver(items: readonly Item[]): Promise<Outcome> {
    if (items.length === 0) return { recorded: 0, unchanged: 0, refused: new Map() };
    let failingSince: number | undefined;
    for (;;) {
      await this.#ready();
      const reply = await post(this.#sending, items);
      if (reply === 'too large') return this.#halves(items);
      if ('unlisted' in reply) return this.#unlisted(items, reply);
      if ('refused' in reply) {
        this.#failures = 0;
        return reply;
      }
      failingSince ??= Date.now();
      this.#pause(reply, failingSince);
    }
  }

  async #halves(items: readonly Item[]): Promise<Outcome> {
    const [only] = items;
    if (only !== undefined && items.length === 1) {
      return { recorded: 0, unchanged: 0, refused: new Map([[only, 'is too large for the service (413)']]) };
    }
    const middle = Math.ceil(items.length / 2);
    const first = await this.deliver(items.slice(0, middle));
    const second = await this.deliver(items.slice(middle));
    return {
      recorded: first.recorded + second.recorded,
      unchanged: first.unchanged + second.unchanged,
      refused: new Map([...first.refused, ...second.refused]),
    };
  }

  /** The answers to the halves name the other refused events. They report the events that the first request recorded as `unchanged`. */
  async #unlisted(items: readonly Item[], { recorded }: Unlisted): Promise<Outcome> {
    const halves = await this.#halves(items);
    return { ...halves, recorded: recorded + halves.recorded, unchanged: halves.unchanged - recorded };
  }

  async #ready(): Promise<void> {
    const { stop } = this.#sending;
    for (;;) {
      stop.throwIfAborted();
      const wait = this.#pausedUntil - Date.now();
      if (wait <= 0) return;
      const spread = wait * (1 + Math.random() * SPREAD);
      await timers.setTimeout(spread, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  #pause({ reason, retryAfterMs: asked }: Unavailable, failingSince: number): void {
    const now = Date.now();
    const giveUpAt = failingSince + this.#sending.giveUpAfterMs;
    if (now >= giveUpAt) throw stoppedError(`Given up after ${seconds(now - failingSince)}: ${reason}.`);
    if (asked !== undefined && now + asked > giveUpAt) {
      throw stoppedError(`Stopped: ${reason} and asks to wait ${seconds(asked)}, longer than --give-up-after allows.`);
    }
    // Requests that were in flight together fail together, which counts as one failure.
    const isPaused = this.#pausedUntil > now;
    if (!isPaused) this.#failures += 1;
    const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 1));
    const wait = Math.max(asked ?? backoff, FIRST_WAIT_MS / 2);
    this.#pausedUntil = Math.max(this.#pausedUntil, Math.min(now + wait, giveUpAt));
    if (isPaused) return;
    this.#sending.note(
      `Waiting ${seconds(this.#pausedUntil - now)}: ${reason}. Gives up in ${seconds(giveUpAt - now)}.`,
    );
  }
}

const seconds = (milliseconds: number): string =>
  milliseconds < 10_000 ? `${(milliseconds / 1_000).toFixed(1)} s` : `${Math.round(milliseconds / 1_000)} s`;

/** A failure that a retry may fix, after `retryAfterMs` if the service gives a time. */
interface Unavailable {
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
}

/** An answer that does not name each refused event: the service lists 100 faults. */
interface Unlisted {
  readonly unlisted: true;
  readonly recorded: number;
}

type Reply = Outcome | 'too large' | Unlisted | Unavailable;

/** Azure's front end ends a request after 230 seconds. */
const REQUEST_MILLISECONDS = 240_000;

/** One request. @throws {CommandError | DayClosed} if no retry helps */
const post = async ({ target: { url, key }, isOfOneDay }: Sending, items: readonly Item[]): Promise<Reply> => {
  let response: Response;
  let body: string;
  try {
    response = await fetch(`${url}/api/events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/cloudevents-batch+json',
        ...(key === undefined ? {} : { 'x-functions-key': key }),
      },
      body: `[${items.map(({ text }) => text).join(',')}]`,
      // The key must not follow to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
    });
    body = await response.text();
  } catch (failure) {
    return connectionFailure(failure);
  }
  if (isOfOneDay && closedSchema.safeParse(jsonIn(body)).success) throw new DayClosed();
  return replyOf(response, body, items);
};

/** An answer that refuses an event because its day is closed. */
const closedSchema = z.object({
  errors: z.array(z.object({ code: z.string() })).refine((errors) => errors.some(({ code }) => code === 'day_closed')),
});

const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

const QUOTED_CHARACTERS = 200;

const detailSchema = z.object({ detail: z.string() });

/**
 * Reads an answer of the service.
 *
 * @throws {CommandError} if no retry helps
 */
const replyOf = ({ status, headers }: Response, body: string, items: readonly Item[]): Reply => {
  if (status === 413) return 'too large';
  if (status === 401 || status === 403) {
    throw stoppedError(
      `The service refuses the function key (${status}). Set the right key with --key-file or FUNCTION_KEY.`,
    );
  }
  if (PASSING_STATUSES.has(status)) {
    const detail = detailSchema.safeParse(jsonIn(body)).data?.detail;
    const reason = `the service answers ${status}${detail === undefined ? '' : ` (${detail})`}`;
    return { reason, retryAfterMs: retryAfterMs(headers, Date.now()) };
  }
  const answer = jsonIn(body);
  const taken = status === 200 || status === 400 ? outcomeIn(answer, items) : undefined;
  if (taken !== undefined) return taken;
  const wrong = wrongSchema.safeParse(answer).data;
  if (wrong !== undefined) {
    return { recorded: 0, unchanged: 0, refused: new Map(items.map((item) => [item, wrong.detail])) };
  }
  throw stoppedError(
    `POST /api/events was answered with ${status}, which is no answer of this service. Is the URL right? ` +
      `The answer begins: ${JSON.stringify(body.slice(0, QUOTED_CHARACTERS))}`,
  );
};

/** All events of the request are in a schema that the service does not take. */
const wrongSchema = z.object({ code: z.literal('event_grid_schema'), detail: z.string() });

const answerSchema = z.object({
  recorded: z.int().min(0),
  unchanged: z.int().min(0),
  errors: z.array(z.object({ index: z.int().min(0), detail: z.string() })).default([]),
  /** The number of all faults, if `errors` does not list all. */
  errors_total: z.int().optional(),
});

/** Undefined if the answer does not account for every event of the request. */
const outcomeIn = (answer: unknown, items: readonly Item[]): Outcome | Unlisted | undefined => {
  const { data } = answerSchema.safeParse(answer);
  if (data === undefined) return undefined;
  const { recorded, unchanged, errors, errors_total: total = errors.length } = data;
  const refused = new Map<Item, string>();
  for (const { index, detail } of errors) {
    const item = items[index];
    if (item === undefined) return undefined;
    const before = refused.get(item);
    refused.set(item, before === undefined ? detail : `${before}; ${detail}`);
  }
  if (recorded + unchanged + refused.size === items.length) return { recorded, unchanged, refused };
  return total > errors.length ? { unlisted: true, recorded } : undefined;
};

/** Connection errors that no retry fixes: another server answers at this URL. */
const LASTING_ERRORS = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_SSL|ERR_TLS|ERR_INVALID/;

const connectionFailure = (failure: unknown): Unavailable => {
  const cause = failure instanceof Error ? failure.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  const name = failure instanceof Error ? failure.name : 'Error';
  const what = name === 'TimeoutError' ? `no answer within ${REQUEST_MILLISECONDS / 1_000} s` : (code ?? name);
  if (LASTING_ERRORS.test(what))
    throw stoppedError(`The connection cannot be made (${what}). Is the URL right?`, failure);
  return { reason: `no connection to the service (${what})`, retryAfterMs: undefined };
};
