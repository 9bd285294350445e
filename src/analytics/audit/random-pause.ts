import { setTimeout } from 'node:timers/promises';

const MOST_PAUSE_MS = 40;

/** Pauses for a random time, so that the tries of a reader do not keep step with a writer. */
export const pause = async (): Promise<void> => setTimeout(Math.random() * MOST_PAUSE_MS);
