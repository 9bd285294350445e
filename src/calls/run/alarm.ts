import type { Clock } from '../model/clock.ts';

// Longer waits are left to the timer function.
const LONGEST_WAIT_MS = 600_000;
// Several things that are due at nearly the same time are found by one look.
const STEP_MS = 100;

/**
 * Rings when something is due that this process knows of: faster than the timer function, which finds the same in the table. It lives
 * in this process only, ends with it and does not keep it alive.
 */
export class Alarm {
  readonly #times = new Map<string, number>();
  readonly #clock: Clock;
  #ring: () => void = () => undefined;
  #cancel: () => void = () => undefined;
  #armedAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it is about to ring. */
  get isDue(): boolean {
    const now = this.#clock.now();
    return [...this.#times.values()].some((at) => at <= now);
  }

  /** What happens when it rings. */
  onRing(ring: () => void): void {
    this.#ring = ring;
  }

  /** Rings at a time, in milliseconds since 1970, or just after it; a later call with the same key replaces it, undefined cancels it. */
  set(key: string, at: number | undefined): void {
    if (at === undefined || at - this.#clock.now() > LONGEST_WAIT_MS) this.#times.delete(key);
    else this.#times.set(key, at <= this.#clock.now() ? at : Math.ceil(at / STEP_MS) * STEP_MS);
    this.#arm();
  }

  #arm(): void {
    const next = Math.min(...this.#times.values());
    if (next === this.#armedAt) return;
    this.#cancel();
    this.#armedAt = next;
    if (this.#times.size === 0) return;
    this.#cancel = this.#clock.after(Math.max(1, next - this.#clock.now()), () => {
      const now = this.#clock.now();
      this.#armedAt = Infinity;
      let isDue = false;
      for (const [key, time] of this.#times) isDue = (time <= now && this.#times.delete(key)) || isDue;
      this.#arm();
      if (isDue) this.#ring();
    });
  }
}
