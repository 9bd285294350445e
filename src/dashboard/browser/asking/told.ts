import * as z from 'zod/mini';

import type { Told } from '../model/arrivals.ts';
import { keptTold } from './kept.ts';

const toldSchema = z.object({
  since: z.optional(z.number()),
  known: z.array(z.string()),
  sounded: z.record(z.string(), z.number()),
});

/** The alerts that this tab showed before it was loaded again; undefined in a new tab. */
export const readTold = (): Told | undefined => {
  try {
    return toldSchema.safeParse(JSON.parse(keptTold.get() ?? 'null')).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

export const keepTold = (told: Told): void => keptTold.set(JSON.stringify(told));
