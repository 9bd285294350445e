import { setTimeout as delay } from 'node:timers/promises';

import { SendStopped } from './send-error.ts';

/** The first wait after a failure, and the longest, in milliseconds. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** Requests that waited together start again spread over this part of the wait. */
const SPREAD = 0.25;

/**
 * When requests may be sent: one clock for all that are in flight, so that a service that is in trouble is left in peace by all
 * of them at once. A wait is as long as `Retry-After` asks; without it waits grow exponentially while nothing succeeds.
 */
export class Pace {
  readonly #note: (text: string) => void;
  readonly #giveUpAfterMs: number;
  readonly #stop: AbortSignal;
  #failures = 0;
  #heldUntil = 0;

  /**
   * @param note tells the person what is being waited for
   * @param giveUpAfterMs how long one request may fail in a row
   * @param stop ends all waiting; its reason is thrown
   */
  constructor(note: (text: string) => void, giveUpAfterMs: number, stop: AbortSignal) {
    this.#note = note;
    this.#giveUpAfterMs = giveUpAfterMs;
    this.#stop = stop;
  }

  /**
   * Fulfils when a request may be sent.
   *
   * @throws the reason of the stop, where sending is to end
   */
  async ready(): Promise<void> {
    for (;;) {
      this.#stop.throwIfAborted();
      const wait = this.#heldUntil - Date.now();
      if (wait <= 0) return;
      await delay(wait * (1 + Math.random() * SPREAD), undefined, { signal: this.#stop }).catch(() => undefined);
    }
  }

  /** A request has been answered: the service works. */
  succeeded(): void {
    this.#failures = 0;
  }

  /**
   * A request has failed for a reason that may pass.
   *
   * @param failingSince when it failed for the first time, in milliseconds since 1970
   * @throws {SendStopped} where it has been failing for too long, or would have to wait too long
   */
  failed(reason: string, retryAfterMs: number | undefined, failingSince: number): void {
    const now = Date.now();
    const isHeld = this.#heldUntil > now;
    if (!isHeld) this.#failures += 1;
    const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 1));
    const wait = Math.max(retryAfterMs ?? backoff * (0.5 + Math.random() / 2), FIRST_WAIT_MS / 2);
    const giveUpAt = failingSince + this.#giveUpAfterMs;
    if (now >= giveUpAt) throw new SendStopped(`Given up after ${seconds(now - failingSince)}: ${reason}.`);
    if (now + (retryAfterMs ?? 0) > giveUpAt) {
      throw new SendStopped(`Given up: ${reason} and asks for a wait of ${seconds(retryAfterMs ?? 0)}.`);
    }
    const until = Math.min(now + wait, giveUpAt);
    if (until <= this.#heldUntil) return;
    this.#heldUntil = until;
    if (!isHeld) this.#note(`Waiting ${seconds(until - now)}: ${reason}. Gives up in ${seconds(giveUpAt - now)}.`);
  }
}

const seconds = (milliseconds: number): string =>
  milliseconds < 10_000 ? `${(milliseconds / 1_000).toFixed(1)} s` : `${Math.round(milliseconds / 1_000)} s`;
