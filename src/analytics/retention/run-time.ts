/** How long a run of a timer works at most, with everything that it does: less than the 30 minutes that the host gives it. */
export const RUN_MS = 20 * 60_000;

/** The time of a run is over: the next run continues. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}

/**
 * Works until the work is done or the time is over.
 *
 * @param work calls `demandTime` before each request that begins something; it throws OutOfTime, which ends the work
 */
export const withinTime = async (ms: number, work: (demandTime: () => void) => Promise<void>): Promise<void> => {
  const end = performance.now() + ms;
  const demandTime = (): void => {
    if (performance.now() >= end) throw new OutOfTime();
  };
  try {
    await work(demandTime);
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
  }
};
