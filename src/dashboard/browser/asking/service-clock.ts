/** Smaller differences are ignored (milliseconds): `Date` has whole seconds, and answers need time. */
const TOLERANCE = 5_000;

/** The service's time: a computer whose clock is 20 minutes fast must not report silent cameras. */
export class ServiceClock {
  #offset = 0;
  #last = -Infinity;
  readonly #corrected: () => void;

  /** @param corrected called when the offset changes */
  constructor(corrected: () => void) {
    this.#corrected = corrected;
  }

  /** If the computer's clock is set back, this time continues: answers must not look younger than they are. */
  now(): number {
    const at = Date.now();
    if (at < this.#last - TOLERANCE) this.#offset += this.#last - at;
    this.#last = at;
    return at + this.#offset;
  }

  /** Milliseconds that this computer's clock is slow; negative: it is fast. */
  get offset(): number {
    return this.#offset;
  }

  hear(date: string | null): void {
    const difference = Date.parse(date ?? '') + 500 - Date.now();
    if (Number.isNaN(difference) || Math.abs(difference - this.#offset) <= TOLERANCE) return;
    this.#offset = Math.abs(difference) <= TOLERANCE ? 0 : difference;
    this.#corrected();
  }
}
