/** How many people of a notification in waves have to confirm if the request does not say. */
export const DEFAULT_CONFIRMATIONS_NEEDED = 1;

/** Whether the rest need no longer be called. */
export const areEnough = (confirmations: number, needed = DEFAULT_CONFIRMATIONS_NEEDED): boolean =>
  confirmations >= needed;

/**
 * Whether the next wave is opened before its time: those called so far cannot be enough.
 *
 * @param reachable how many of the waves so far have confirmed or can still be reached
 */
export const isNextWaveNeededNow = (reachable: number, needed = DEFAULT_CONFIRMATIONS_NEEDED): boolean =>
  reachable < needed;
