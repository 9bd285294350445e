/** The time. Injected, so that a test can play hours in seconds. */
export interface Clock {
  /** In milliseconds since 1970, by the clock of storage: all instances agree on it. */
  now(): number;

  /** In milliseconds, by a clock that never runs back: only for durations within this process. */
  steady(): number;

  /**
   * Runs a function once, after this time in milliseconds. It does not keep the process alive.
   *
   * @returns a function that cancels it
   */
  after(ms: number, run: () => void): () => void;
}

/** Waits by a clock, in milliseconds. It does not keep the process alive. */
export const sleepBy = async (clock: Pick<Clock, 'after'>, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));

/** @param now in milliseconds since 1970, by the clock of storage */
export const clockOf = (now: () => number): Clock => ({
  now: () => Math.floor(now()),
  steady: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
});
