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
        let timer: NodeJS.Timeout | undefined;
        const held = new Promise<void>((givenUp) => {
          timer = setTimeout(givenUp, HOLD_MS);
        });
        const working = work().then(resolve, reject);
        await Promise.race([working, held]);
        clearTimeout(timer);
      });
    });
  }
}
