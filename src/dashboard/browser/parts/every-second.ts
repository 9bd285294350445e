const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Calls a listener every second, all listeners in one task. @returns a function that ends it */
export const everySecond = (listener: () => void): (() => void) => {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
};
