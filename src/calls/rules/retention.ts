// How long the rows of calls matter after their last call. Times are in milliseconds.

/** Keys that are reported later than this after the end of their call are dropped. Then a notification may settle. */
export const KEYS_COUNT_FOR_MS = 300_000;

/** The margin between the last key that counts and the settling: the clocks of instances may differ by this. */
const MARGIN_MS = 10_000;

/** When a notification settles, by the end of its last call. Both are in milliseconds since 1970. */
export const settlesAt = (lastEndAt: number): number => lastEndAt + KEYS_COUNT_FOR_MS + MARGIN_MS;
