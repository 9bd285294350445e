import { setTimeout as delay } from 'node:timers/promises';

import { CommandError } from '../command-line.ts';
import type { Item } from './items.ts';
import { EXIT } from './options.ts';
import type { Post } from './post-batch.ts';

/** An item that is not recorded, and why. */
export interface Rejection {
  readonly item: Item;
  readonly reason: string;
}

/** What became of some events, all of which the service has answered for. */
export interface Outcome {
  readonly recorded: number;
  readonly unchanged: number;
  readonly rejected: readonly Rejection[];
}

/** Time, as delivering needs it. */
export interface Clock {
  /** In milliseconds. */
  now(): number;
  /** Fulfils after so many milliseconds, or as soon as the signal is aborted. */
  sleep(milliseconds: number, stop: AbortSignal): Promise<void>;
}

/** The clock of this machine. */
export const MACHINE_CLOCK: Clock = {
  now: () => Date.now(),
  sleep: async (milliseconds, signal) => delay(milliseconds, undefined, { signal }).catch(() => undefined),
};

/** How a service is sent to. */
export interface Sending {
  readonly post: Post;
  readonly clock: Clock;
  /** How long one request may fail in a row. */
  readonly giveUpAfterMs: number;
  /** Ends all waiting; its reason is thrown. */
  readonly stop: AbortSignal;
  /** Tells the person what is being waited for. */
  readonly note: (text: string) => void;
}

/** The first wait after a failure, and the longest, in milliseconds. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** Requests that waited together start again spread over this part of the wait. */
const SPREAD = 0.25;

/** Sending had to stop before the end of the input; the same command goes on from there. */
export const stoppedError = (reason: string): CommandError => new CommandError(reason, { exitCode: EXIT.stopped });

/**
 * Sends events until the service has answered for each of them: again if it asks for that, in halves if they are too many or too
 * large for it. All requests in flight wait together, so that a service in trouble is left in peace by all of them at once: as long as
 * `Retry-After` asks, else longer and longer while nothing succeeds.
 */
export class Delivery {
  readonly #sending: Sending;
  #failures = 0;
  #heldUntil = 0;

  constructor(sending: Sending) {
    this.#sending = sending;
  }

  /**
   * Delivers some events, none of them with a fault.
   *
   * @throws {CommandError} if that cannot be done: none, some or all of them may be recorded
   */
  async deliver(items: readonly Item[]): Promise<Outcome> {
    if (items.length === 0) return { recorded: 0, unchanged: 0, rejected: [] };
    let failingSince: number | undefined;
    for (;;) {
      await this.#ready();
      const reply = await this.#sending.post(items.map(({ text }) => text));
      switch (reply.kind) {
        case 'taken':
          this.#failures = 0;
          return {
            recorded: reply.recorded,
            unchanged: reply.unchanged,
            rejected: items.flatMap((item, index) => {
              const reason = reply.refused.get(index);
              return reason === undefined ? [] : [{ item, reason }];
            }),
          };
        case 'too large':
          return this.#halves(items);
        case 'unavailable':
          failingSince ??= this.#sending.clock.now();
          this.#failed(reply.reason, reply.retryAfterMs, failingSince);
          break;
        case 'impossible':
          throw stoppedError(reply.reason);
      }
    }
  }

  async #halves(items: readonly Item[]): Promise<Outcome> {
    const [only] = items;
    if (only !== undefined && items.length === 1) {
      return { recorded: 0, unchanged: 0, rejected: [{ item: only, reason: 'is too large for the service (413)' }] };
    }
    const middle = Math.ceil(items.length / 2);
    const first = await this.deliver(items.slice(0, middle));
    const second = await this.deliver(items.slice(middle));
    return {
      recorded: first.recorded + second.recorded,
      unchanged: first.unchanged + second.unchanged,
      rejected: [...first.rejected, ...second.rejected],
    };
  }

  async #ready(): Promise<void> {
    const { clock, stop } = this.#sending;
    for (;;) {
      stop.throwIfAborted();
      const wait = this.#heldUntil - clock.now();
      if (wait <= 0) return;
      await clock.sleep(wait * (1 + Math.random() * SPREAD), stop);
    }
  }

  #failed(reason: string, retryAfterMs: number | undefined, failingSince: number): void {
    const now = this.#sending.clock.now();
    const giveUpAt = failingSince + this.#sending.giveUpAfterMs;
    if (now >= giveUpAt) throw stoppedError(`Given up after ${seconds(now - failingSince)}: ${reason}.`);
    if (now + (retryAfterMs ?? 0) > giveUpAt) {
      throw stoppedError(`Given up: ${reason} and asks for a wait of ${seconds(retryAfterMs ?? 0)}.`);
    }
    const isHeld = this.#heldUntil > now;
    if (!isHeld) this.#failures += 1;
    const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 1));
    const wait = Math.max(retryAfterMs ?? backoff * (0.5 + Math.random() / 2), FIRST_WAIT_MS / 2);
    const until = Math.min(now + wait, giveUpAt);
    if (until <= this.#heldUntil) return;
    this.#heldUntil = until;
    if (!isHeld) {
      this.#sending.note(`Waiting ${seconds(until - now)}: ${reason}. Gives up in ${seconds(giveUpAt - now)}.`);
    }
  }
}

const seconds = (milliseconds: number): string =>
  milliseconds < 10_000 ? `${(milliseconds / 1_000).toFixed(1)} s` : `${Math.round(milliseconds / 1_000)} s`;
