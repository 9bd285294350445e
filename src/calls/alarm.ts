// Longer waits are left to the timer function.
const LONGEST_WAIT_MS = 600_000;
// Several things that are due at nearly the same time are found by one look.
const STEP_MS = 100;

/**
 * Rings when something is due that this process knows of: faster than the timer function, which finds the same in the table. It lives
 * in this process only, ends with it and does not keep it alive.
 */
export class Alarm {
  readonly #times = new Set<number>();
  #ring: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;

  /** What happens when it rings. */
  onRing(ring: () => void): void {
    this.#ring = ring;
  }

  /** Rings at a time, in milliseconds since 1970, or just after it. */
  ringAt(at: number): void {
    if (at - Date.now() > LONGEST_WAIT_MS) return;
    this.#times.add(Math.ceil(at / STEP_MS) * STEP_MS);
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#times.size === 0) return;
    const next = Math.min(...this.#times);
    this.#timer = setTimeout(
      () => {
        const now = Date.now();
        for (const time of this.#times) if (time <= now) this.#times.delete(time);
        this.#arm();
        this.#ring();
      },
      Math.max(1, next - Date.now()),
    );
    this.#timer.unref();
  }
}
