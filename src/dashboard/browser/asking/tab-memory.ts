import * as z from 'zod/mini';

import type { TabMemory } from '../model/arrivals.ts';
import { keptMemory } from './kept.ts';

const memorySchema = z.object({
  since: z.optional(z.number()),
  known: z.array(z.string()),
  sounded: z.record(z.string(), z.number()),
});

/** The alerts that this tab showed before it was loaded again; undefined in a new tab. */
export const readMemory = (): TabMemory | undefined => {
  try {
    return memorySchema.safeParse(JSON.parse(keptMemory.get() ?? 'null')).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

export const keepMemory = (memory: TabMemory): void => keptMemory.set(JSON.stringify(memory));
