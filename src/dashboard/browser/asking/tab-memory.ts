import * as v from 'valibot';

import type { TabMemory } from '../model/arrivals.ts';
import { keptMemory } from './kept.ts';
import { jsonOf } from './service-client.ts';

const memorySchema = v.object({
  since: v.optional(v.number()),
  known: v.array(v.string()),
  sounded: v.record(v.string(), v.number()),
});

/** The alerts that this tab showed before it was loaded again; undefined in a new tab. */
export const readMemory = (): TabMemory | undefined => {
  const { success, output } = v.safeParse(memorySchema, jsonOf(keptMemory.get() ?? ''));
  return success ? output : undefined;
};

export const keepMemory = (memory: TabMemory): void => keptMemory.set(JSON.stringify(memory));
