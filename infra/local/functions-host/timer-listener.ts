import type { TimerTrigger } from './timer-trigger.ts';

/** What a timer function is told, in the real host's spelling; `@azure/functions` changes it to camel case. */
export interface TimerInfo {
  readonly Schedule: { readonly AdjustForDST: boolean };
  /** Null where the schedule occurs more than once a minute, and where `useMonitor` is false. */
  readonly ScheduleStatus: { readonly Last: string; readonly Next: string; readonly LastUpdated: string } | null;
  /** Always false: this host remembers nothing of its last run, so that no occurrence is known to be missed. */
  readonly IsPastDue: boolean;
}

/** The longest time that `setTimeout` can wait, in milliseconds: almost 25 days. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** What the real host says before the first run. */
const NEVER = '0001-01-01T00:00:00+00:00';

/**
 * Runs one timer function by the rules of the real host's timer listener: one scheduled run at a time; an occurrence that passes
 * during a run starts the next run right after it, but only one.
 */
export class TimerListener {
  readonly trigger: TimerTrigger;
  readonly #run: (info: TimerInfo) => Promise<void>;
  readonly #running = new Set<Promise<void>>();
  #timeout: NodeJS.Timeout | undefined;
  #next: number;
  #last: number | undefined;
  #isStopped = false;

  /** @param run runs the function once; it must not reject */
  constructor(trigger: TimerTrigger, run: (info: TimerInfo) => Promise<void>) {
    this.trigger = trigger;
    this.#run = run;
    this.#next = trigger.schedule.next(Date.now());
  }

  /** Starts the schedule, with a run at once where the function asks for one on start-up. */
  start(): void {
    if (this.trigger.runOnStartup) void this.#occur();
    else this.#wait();
  }

  /** Starts a run at once, even during another one, as the real host's admin endpoint does. */
  runNow(): void {
    void this.#tracked(this.#run(this.#info()));
  }

  /** Stops the schedule and waits until no run is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timeout);
    await Promise.all(this.#running);
  }

  #wait(): void {
    if (this.#isStopped) return;
    const milliseconds = Math.min(Math.max(this.#next - Date.now(), 0), LONGEST_TIMEOUT);
    this.#timeout = setTimeout(() => {
      // A timeout may end a millisecond early, and the longest one ends before a date further away.
      if (Date.now() < this.#next) this.#wait();
      else void this.#occur();
    }, milliseconds);
  }

  async #occur(): Promise<void> {
    const startedAt = Date.now();
    await this.#tracked(this.#run(this.#info()));
    this.#last = startedAt;
    this.#next = this.trigger.schedule.next(startedAt);
    this.#wait();
  }

  async #tracked(run: Promise<void>): Promise<void> {
    this.#running.add(run);
    await run;
    this.#running.delete(run);
  }

  #info(): TimerInfo {
    const last = this.#last === undefined ? NEVER : isoText(this.#last);
    return {
      Schedule: { AdjustForDST: true },
      ScheduleStatus: this.trigger.hasStatus ? { Last: last, Next: isoText(this.#next), LastUpdated: last } : null,
      IsPastDue: false,
    };
  }
}

const isoText = (milliseconds: number): string => new Date(milliseconds).toISOString().replace('Z', '+00:00');
