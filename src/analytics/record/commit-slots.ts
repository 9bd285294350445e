import { setTimeout } from 'node:timers/promises';

import pLimit from 'p-limit';

const SLOTS = 16;
const HOLD_MS = 500;

/**
 * Bounds how many committers of the process use storage at the same time. One that takes long gives its slot up and goes on, so a
 * partition in trouble holds up no other one. Nobody holds a slot while it waits to try again.
 */
export class CommitSlots {
  readonly #limit = pLimit(SLOTS);

  /** Runs work as soon as there is a slot. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      void this.#limit(async () => {
        const ended = new AbortController();
        const working = work()
          .then(resolve, reject)
          .finally(() => ended.abort());
        await Promise.race([working, setTimeout(HOLD_MS, undefined, { signal: ended.signal }).catch(() => undefined)]);
      });
    });
  }
}
