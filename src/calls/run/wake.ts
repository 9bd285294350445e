import type { Clock } from '../model/clock.ts';

/** If a look changed nothing, the next one waits so long: what is due all the same must not ring without a pause. */
const PAUSE_MS = 2_000;

/** One timer for the earliest of several times, each of which has a name. Times are in milliseconds since 1970. */
export class Wake {
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #times = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #armedFor = Infinity;
  #isEnded = false;

  /** @param ring called at the earliest time; what it does then must end with {@link rearm} */
  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets the time of a name; undefined: it has none (any more). */
  set(name: string, at: number | undefined): void {
    if (at === undefined) this.#times.delete(name);
    else this.#times.set(name, at);
    if (at !== undefined && at < this.#armedFor) this.#arm();
  }

  /** Rings as soon as what is under way is done. */
  now(): void {
    this.set('now', this.#clock.now());
  }

  /** What the ring asked for is done. @param isFruitful whether it changed anything */
  rearm(isFruitful: boolean): void {
    const now = this.#clock.now();
    for (const [name, at] of isFruitful ? [] : this.#times) if (at <= now) this.#times.set(name, now + PAUSE_MS);
    this.#arm();
  }

  /** Rings no more. */
  end(): void {
    this.#isEnded = true;
    this.#cancel?.();
  }

  #arm(): void {
    this.#cancel?.();
    if (this.#isEnded || this.#times.size === 0) return;
    const now = this.#clock.now();
    this.#armedFor = Math.min(...this.#times.values());
    this.#cancel = this.#clock.after(Math.max(0, this.#armedFor - now), () => {
      this.#armedFor = Infinity;
      // What is still due is set again by what the ring starts.
      const rung = this.#clock.now();
      for (const [name, at] of this.#times) if (at <= rung) this.#times.delete(name);
      this.#ring();
    });
  }
}
