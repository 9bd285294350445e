/** Smaller differences are ignored (milliseconds): `Date` has whole seconds, and answers need time. */
const TOLERANCE = 5_000;

/** The service's time: a computer whose clock is 20 minutes fast must not report silent cameras. */
export class ServiceClock {
  #offset = 0;
  readonly #corrected: () => void;

  /** @param corrected called when the offset changes */
  constructor(corrected: () => void) {
    this.#corrected = corrected;
  }

  now(): number {
    return Date.now() + this.#offset;
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
