import * as v from 'valibot';

import type { TabMemory } from '../model/arrivals.ts';
import { keptMemory } from './kept.ts';

const memorySchema = v.object({
  since: v.optional(v.number()),
  known: v.array(v.string()),
  sounded: v.record(v.string(), v.number()),
});

/** The alerts that this tab showed before it was loaded again; undefined in a new tab. */
export const readMemory = (): TabMemory | undefined => {
  try {
    const { success, output } = v.safeParse(memorySchema, JSON.parse(keptMemory.get() ?? 'null'));
    return success ? output : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

export const keepMemory = (memory: TabMemory): void => keptMemory.set(JSON.stringify(memory));
