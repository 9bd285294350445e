/** The time, as one process sees it. Injected, so that a test can play hours in seconds, and processes whose clocks differ. */
export interface Clock {
  /** In milliseconds since 1970. */
  now(): number;

  /**
   * Runs a function once, after this time in milliseconds. It does not keep the process alive.
   *
   * @returns what cancels it
   */
  after(ms: number, run: () => void): () => void;
}

/** Waits by a clock, in milliseconds. It does not keep the process alive. */
export const sleepBy = async (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
