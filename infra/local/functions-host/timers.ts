import { Cron } from 'croner';

import { CommandError } from '../../command-line.ts';
import type { RegisteredFunction } from './worker.ts';

/** A field of numbers, lists, ranges and steps; a month or a weekday may be a name of three letters. Sunday is 0 only. */
const FIELDS: readonly RegExp[] = [
  ...Array.from({ length: 4 }, () => /^[\d*,/-]+$/),
  /^(?:[\d*,/-]|[a-z]{3})+$/i,
  /^(?:[0-6*,/-]|[a-z]{3})+$/i,
];

/**
 * Reads an NCRONTAB expression of six fields, `{second} {minute} {hour} {day} {month} {day of week}`, in UTC. What the cron library
 * takes but NCRONTAB does not, such as `L` and `W`, is an error: the schedule must mean the same in Azure.
 *
 * @throws {RangeError} where the text is no such expression or never occurs
 * @returns the schedule, not started
 * @example parseSchedule('0 30 2 * * *').nextRun() // 02:30 UTC, today or tomorrow
 */
export const parseSchedule = (text: string): Cron => {
  const fields = text.trim().split(/\s+/);
  const cron =
    fields.length === FIELDS.length && FIELDS.every((field, index) => field.test(fields[index] ?? ''))
      ? cronOf(fields.join(' '))
      : undefined;
  if (cron === undefined) throw new RangeError(`"${text}" is not an NCRONTAB expression of six fields.`);
  if (cron.nextRun() === null) throw new RangeError(`"${text}" never occurs.`);
  return cron;
};

const cronOf = (expression: string): Cron | undefined => {
  try {
    // In NCRONTAB a day must match both its field and that of the weekday. Protected: no run begins during another one.
    return new Cron(expression, { mode: '6-part', timezone: 'UTC', domAndDow: true, protect: true });
  } catch {
    return undefined;
  }
};

/** A registered function that runs on a schedule. */
interface TimerTrigger {
  readonly registered: RegisteredFunction;
  /** The name of its timer trigger's binding. */
  readonly bindingName: string;
  readonly schedule: Cron;
}

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
    Object.entries(registered.bindings)
      .filter(([, { type }]) => type === 'timerTrigger')
      .map(([bindingName, binding]) => {
        try {
          if (binding['runOnStartup'] === true) throw new Error('this host runs no function because it starts.');
          const schedule = parseSchedule(withSettings(String(binding['schedule']), settings));
          return { registered, bindingName, schedule };
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          throw new CommandError(`${registered.name}: ${reason}`, { cause: error });
        }
      }),
  );

const withSettings = (text: string, settings: Readonly<Record<string, string | undefined>>): string =>
  text.replaceAll(/%([^%]+)%/g, (_, name: string) => {
    const value = settings[name];
    if (value === undefined || value === '') throw new Error(`the setting ${name} of its schedule is missing.`);
    return value;
  });

/**
 * What every timer function is told, in the real host's spelling; `@azure/functions` changes it to camel case. This host remembers nothing of
 * earlier runs: it tells no status, and no occurrence is known to be missed.
 */
const TIMER_INFO = { Schedule: { AdjustForDST: true }, ScheduleStatus: null, IsPastDue: false };

/** The input of a timer function. */
export const timerInput = ({ bindingName }: TimerTrigger) => ({
  name: bindingName,
  data: { json: JSON.stringify(TIMER_INFO) },
});

/** Runs one timer function: one scheduled run at a time, and one whenever it is asked for. */
export class TimerListener {
  readonly trigger: TimerTrigger;
  readonly #run: () => Promise<void>;
  readonly #running = new Set<Promise<void>>();

  /** @param run runs the function once; it must not reject */
  constructor(trigger: TimerTrigger, run: () => Promise<void>) {
    this.trigger = trigger;
    this.#run = run;
  }

  /** Starts the schedule. */
  start(): void {
    this.trigger.schedule.schedule(async () => this.runNow());
  }

  /** Runs it at once, even during another run, as the real host's admin endpoint does. */
  async runNow(): Promise<void> {
    const run = this.#run();
    this.#running.add(run);
    await run;
    this.#running.delete(run);
  }

  /** Stops the schedule and waits until no run is under way. */
  async stop(): Promise<void> {
    this.trigger.schedule.stop();
    await Promise.all(this.#running);
  }
}
