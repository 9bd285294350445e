import { setTimeout as delay } from 'node:timers/promises';

/** The result of `work`, or `'late'` if it takes longer. Late work continues. */
export const within = async <Result>(milliseconds: number, work: Promise<Result>): Promise<Result | 'late'> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, milliseconds, 'late');
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

const PAUSE_MILLISECONDS = 200;

/** Probes until there is a result; undefined if it takes longer. */
export const polled = async <Result>(
  milliseconds: number,
  probe: () => Promise<Result | undefined>,
): Promise<Result | undefined> => {
  const end = performance.now() + milliseconds;
  for (;;) {
    const result = await probe();
    if (result !== undefined || performance.now() >= end) return result;
    await delay(PAUSE_MILLISECONDS);
  }
};
