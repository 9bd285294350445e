import type { AlertType } from './alert-types.ts';
import type { CallId } from './call-id.ts';

// A line that cannot be hung up in so many checks is left to the telephone network.
const MOST_CHECKS = 8;
const MOST_CALLS = 10_000;

interface Watched {
  readonly timer: NodeJS.Timeout;
  readonly checks: number;
}

/**
 * Timers that find calls whose events were lost, so that no line stays open and silent. They live in this process only, end with it
 * and do not keep it alive.
 */
export class LineWatch {
  readonly #check: (callId: CallId, alertType: AlertType) => Promise<void>;
  readonly #watched = new Map<CallId, Watched>();

  /** @param check looks after the call and may ask for another check; must not reject */
  constructor(check: (callId: CallId, alertType: AlertType) => Promise<void>) {
    this.#check = check;
  }

  /** Has the call checked after so many milliseconds. Replaces the call's earlier timer. */
  checkAfter(delayMs: number, callId: CallId, alertType: AlertType): void {
    const earlier = this.#watched.get(callId);
    this.forget(callId);
    const checks = earlier?.checks ?? 0;
    if (checks >= MOST_CHECKS || this.#watched.size >= MOST_CALLS) return;
    const timer = setTimeout(() => {
      this.#watched.set(callId, { timer, checks: checks + 1 });
      void this.#check(callId, alertType);
    }, delayMs);
    timer.unref();
    this.#watched.set(callId, { timer, checks });
  }

  /** Ends the watch: the call has ended. */
  forget(callId: CallId): void {
    clearTimeout(this.#watched.get(callId)?.timer);
    this.#watched.delete(callId);
  }
}
