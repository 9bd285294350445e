import { z } from 'zod';

import { CommandError } from '../../command-line.ts';
import type { RegisteredFunction } from './registry.ts';
import { parseSchedule, type Schedule } from './schedule.ts';

/** A registered function that runs on a schedule. */
export interface TimerTrigger {
  readonly registered: RegisteredFunction;
  /** The name of its timer trigger's binding. */
  readonly bindingName: string;
  readonly schedule: Schedule;
  /** True where the function runs once when the host starts. */
  readonly runOnStartup: boolean;
  /** True where the function is told its `scheduleStatus`. */
  readonly hasStatus: boolean;
}

const timerTriggerSchema = z.object({
  schedule: z.string(),
  runOnStartup: z.boolean().default(false),
  useMonitor: z.boolean().default(true),
});

/**
 * The timer triggers of an app's functions.
 *
 * @param settings where `%NAME%` in a schedule takes its value
 * @throws {CommandError} that names the function whose schedule cannot be used
 */
export const timerTriggers = (
  functions: readonly RegisteredFunction[],
  settings: Readonly<Record<string, string | undefined>>,
): readonly TimerTrigger[] =>
  functions.flatMap((registered) =>
    Object.entries(registered.metadata.bindings)
      .filter(([, { type }]) => type === 'timerTrigger')
      .map(([bindingName, binding]) => {
        try {
          const { schedule: text, runOnStartup, useMonitor } = timerTriggerSchema.parse(binding);
          const schedule = parseSchedule(withSettings(text, settings));
          // The real host keeps no status of a schedule that occurs so often, whatever useMonitor says.
          return { registered, bindingName, schedule, runOnStartup, hasStatus: useMonitor && !schedule.isSubMinute };
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          throw new CommandError(`${registered.metadata.name}: ${reason}`, { cause: error });
        }
      }),
  );

const withSettings = (text: string, settings: Readonly<Record<string, string | undefined>>): string =>
  text.replaceAll(/%([^%]+)%/g, (_, name: string) => {
    const value = settings[name];
    if (value === undefined || value === '') throw new Error(`the setting ${name} of its schedule is missing.`);
    return value;
  });
