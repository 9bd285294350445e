import type { Clock } from '../model/clock.ts';

// Longer waits are left to the timer function.
const LONGEST_WAIT_MS = 600_000;
// Several things that are due at nearly the same time are found by one look.
const STEP_MS = 100;
// What is due all the same after it was looked at is not looked at without a pause.
const AGAIN_AFTER_MS = 2_000;

/**
 * Rings when something is due that this process knows of: faster than the timer function, which finds the same in the table. It lives
 * in this process only, ends with it and does not keep it alive.
 */
export class Alarm {
  /** What is due when, and when to ring for it, in milliseconds since 1970. */
  readonly #set = new Map<string, { readonly at: number; readonly ringsAt: number }>();
  /** For which time it has rung a short while ago, and when. */
  readonly #rung = new Map<string, { readonly at: number; readonly rangAt: number }>();
  readonly #clock: Clock;
  #ring: () => void = () => undefined;
  #cancel: () => void = () => undefined;
  #armedAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it is about to ring. */
  get isDue(): boolean {
    return this.#armedAt <= this.#clock.now();
  }

  /** What happens when it rings. */
  onRing(ring: () => void): void {
    this.#ring = ring;
  }

  /**
   * Rings at a time, in milliseconds since 1970, or just after it, and not twice within two seconds for the same time; a later call with the same
   * key replaces it, undefined cancels it.
   */
  set(key: string, at: number | undefined): void {
    const now = this.#clock.now();
    if (at === undefined || at - now > LONGEST_WAIT_MS) this.#set.delete(key);
    else {
      const rung = this.#rung.get(key);
      const earliest = rung?.at === at ? rung.rangAt + AGAIN_AFTER_MS : at;
      this.#set.set(key, { at, ringsAt: earliest <= now ? at : Math.ceil(earliest / STEP_MS) * STEP_MS });
    }
    this.#arm();
  }

  #arm(): void {
    let next = Infinity;
    for (const { ringsAt } of this.#set.values()) next = Math.min(next, ringsAt);
    if (next === this.#armedAt) return;
    this.#cancel();
    this.#armedAt = next;
    if (this.#set.size === 0) return;
    this.#cancel = this.#clock.after(Math.max(1, next - this.#clock.now()), () => {
      const now = this.#clock.now();
      this.#armedAt = Infinity;
      for (const [key, { rangAt }] of this.#rung) if (rangAt + AGAIN_AFTER_MS <= now) this.#rung.delete(key);
      let isDue = false;
      for (const [key, { at, ringsAt }] of this.#set) {
        if (ringsAt > now) continue;
        this.#set.delete(key);
        this.#rung.set(key, { at, rangAt: now });
        isDue = true;
      }
      this.#arm();
      if (isDue) this.#ring();
    });
  }
}
