import { setTimeout as sleep } from 'node:timers/promises';

import { Timeline } from '../timeline.ts';
import type { TokenSigner } from './token-signer.ts';

/** How often a callback is posted at most that is not accepted. Microsoft does not publish it. */
const ATTEMPTS = 3;
const PAUSE_MS = 300;
const DEADLINE_MS = 60_000;

/** Posts signed callbacks as ACS does: each event in an array of its own, and again where the app does not accept it. */
export class Deliveries {
  readonly #signer: TokenSigner;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #timeline = new Timeline();
  /** What ends the waiting for each that is to come later. */
  readonly #toCome = new Set<() => void>();

  constructor(signer: TokenSigner) {
    this.#signer = signer;
  }

  /** @param answered is told what the app answered: a status, or `unreachable` */
  post(callbackUri: string, event: object, answered: (answer: string) => void): void {
    this.#add(this.#deliver(callbackUri, JSON.stringify([event])).then(answered));
  }

  /** Reports something in so many milliseconds, unless the simulator is stopped before: what follows the end of a call is under way from then on. */
  later(ms: number, report: () => void): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#toCome.add(resolve);
    this.#timeline.after(ms, () => {
      this.#toCome.delete(resolve);
      report();
      resolve();
    });
    this.#add(promise);
  }

  #add(delivery: Promise<void>): void {
    this.#underWay.add(delivery);
    void delivery.finally(() => this.#underWay.delete(delivery));
  }

  /** Fulfils when nothing is being delivered, or follows the end of a call. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async stop(): Promise<void> {
    this.#timeline.clear();
    for (const end of this.#toCome) end();
    this.#stopping.abort();
    await this.settled();
  }

  async #deliver(url: string, body: string): Promise<string> {
    const { signal } = this.#stopping;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#post(url, body);
      if (/^[234]/.test(answer) || attempt === ATTEMPTS) return answer;
      await sleep(PAUSE_MS * attempt, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return answer;
    }
  }

  async #post(url: string, body: string): Promise<string> {
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(DEADLINE_MS)]);
    try {
      const headers = {
        'content-type': 'application/cloudevents-batch+json; charset=utf-8',
        authorization: `Bearer ${await this.#signer.sign()}`,
      };
      const response = await fetch(url, { method: 'POST', headers, body, signal });
      await response.arrayBuffer();
      return String(response.status);
    } catch {
      // The reason does not matter: the app does not run, or the simulator is being stopped.
      return 'unreachable';
    }
  }
}
