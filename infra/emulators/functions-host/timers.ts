import { Cron } from 'croner';

import type { RegisteredFunction } from './worker.ts';

/**
 * A schedule in UTC, not started: `{second} {minute} {hour} {day} {month} {day of week}`. The rule of the setting (src/settings) refuses `L`, `W`
 * and others that the library accepts and NCRONTAB does not.
 *
 * @throws {TypeError} if the library does not understand the text
 * @example scheduleOf('0 30 2 * * *').nextRun() // 02:30 UTC, today or tomorrow
 */
export const scheduleOf = (text: string): Cron =>
  // In NCRONTAB a day must match both its own field and the field of the weekday. Protected: no run begins during another run.
  new Cron(text, { mode: '6-part', timezone: 'UTC', domAndDow: true, protect: true });

/** A registered function that runs on a schedule. */
interface TimerTrigger {
  readonly registered: RegisteredFunction;
  /** The name of its timer trigger's binding. */
  readonly bindingName: string;
  readonly schedule: Cron;
}

/** A timer function that this host cannot run. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

/**
 * The timer triggers of an app's functions.
 *
 * @throws {ScheduleError} that names the function whose schedule cannot be used
 */
export const timerTriggers = (functions: readonly RegisteredFunction[]): readonly TimerTrigger[] =>
  functions.flatMap((registered) =>
    Object.entries(registered.bindings)
      .filter(([, { type }]) => type === 'timerTrigger')
      .map(([bindingName, binding]) => {
        try {
          if (binding['runOnStartup'] === true) throw new Error('this host runs no function because it starts.');
          return { registered, bindingName, schedule: scheduleOf(String(binding['schedule'])) };
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          throw new ScheduleError(`${registered.name}: ${reason}`, { cause: error });
        }
      }),
  );

/** In the real host's spelling; `@azure/functions` changes it to camel case. This host remembers no earlier runs. */
const TIMER_INFO = { Schedule: { AdjustForDST: true }, ScheduleStatus: null, IsPastDue: false };

/** The input of a timer function. */
export const timerInput = ({ bindingName }: TimerTrigger) => ({
  name: bindingName,
  data: { json: JSON.stringify(TIMER_INFO) },
});

/** Runs one timer function: one scheduled run at a time, and other runs on request. */
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
