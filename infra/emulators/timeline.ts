interface Step {
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly happen: () => void;
}

// A timer may fire this early.
const EARLY_MS = 1;

/**
 * Planned steps, in the order of their times. Timers of different lengths do not keep that order: if Node was busy when two were due, the later timer
 * may fire first, by up to 100 ms.
 */
export class Timeline {
  readonly #steps: Step[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Plans a step in this number of milliseconds, after all steps of the same time. */
  after(ms: number, happen: () => void): void {
    const at = Date.now() + ms;
    const place = this.#steps.findLastIndex((step) => step.at <= at) + 1;
    this.#steps.splice(place, 0, { at, happen });
    if (place === 0) this.#arm();
  }

  /** Cancels all steps. */
  clear(): void {
    this.#steps.length = 0;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const [first] = this.#steps;
    if (first === undefined) return;
    this.#timer = setTimeout(() => this.#run(), Math.max(0, first.at - Date.now()));
  }

  #run(): void {
    const now = Date.now() + EARLY_MS;
    for (let [step] = this.#steps; step !== undefined && step.at <= now; [step] = this.#steps) {
      this.#steps.shift();
      step.happen();
    }
    this.#arm();
  }
}
