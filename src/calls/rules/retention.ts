// How long the rows of calls matter after their last call. Times are in milliseconds.

/** Keys that are reported later than this after the end of their call are dropped. Then a notification may settle. */
export const KEYS_COUNT_FOR_MS = 300_000;

/** Between the two, no instance decides by a clock that is a little behind. */
const MARGIN_MS = 10_000;

/** When a notification is settled whose last call ended at a time, in milliseconds since 1970. */
export const settlesAt = (lastEndAt: number): number => lastEndAt + KEYS_COUNT_FOR_MS + MARGIN_MS;
