/**
 * So much may lie between both clocks before this computer's is corrected: the service says whole seconds, and its answer has been under
 * way.
 */
const TOLERANCE = 5_000;

/** The time by the service's clock: a computer whose own is 20 minutes fast must not show cameras as silent that send. */
export class ServiceClock {
  #offset = 0;
  readonly #corrected: () => void;

  /** @param corrected called when this computer's clock turned out to be wrong, or right after all */
  constructor(corrected: () => void) {
    this.#corrected = corrected;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#offset;
  }

  /** How many milliseconds this computer's clock is behind; below 0: it is fast. */
  get offset(): number {
    return this.#offset;
  }

  /** Takes the `Date` of an answer that has just come; null: it has none. */
  hear(date: string | null): void {
    const difference = Date.parse(date ?? '') + 500 - Date.now();
    if (Number.isNaN(difference) || Math.abs(difference - this.#offset) <= TOLERANCE) return;
    this.#offset = Math.abs(difference) <= TOLERANCE ? 0 : difference;
    this.#corrected();
  }
}
