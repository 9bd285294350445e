/** `setTimeout` of `node:timers/promises` in virtual time, which Vitest does not bring to that module. */
export const virtualSleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
