import type { AlertType } from './alert-types.ts';
import type { CallId } from './call-id.ts';

// A line that cannot be hung up in so many tries is ACS's to end.
const MOST_LOOKS = 8;
const MOST_CALLS = 10_000;

interface Watched {
  readonly timer: NodeJS.Timeout;
  readonly looks: number;
}

/**
 * Looks after lines that might be forgotten: events may be lost, and no line may stay open and silent. The timers are this process's:
 * a second net under the events, which ends with the process and keeps none alive.
 */
export class LineWatch {
  readonly #look: (callId: CallId, alertType: AlertType) => Promise<void>;
  readonly #watched = new Map<CallId, Watched>();

  /** @param look looks after the call, and may ask for another look; must not reject */
  constructor(look: (callId: CallId, alertType: AlertType) => Promise<void>) {
    this.#look = look;
  }

  /** Has the call looked at after so many milliseconds, in place of what was asked for before. */
  lookAt(callId: CallId, alertType: AlertType, afterMs: number): void {
    const earlier = this.#watched.get(callId);
    clearTimeout(earlier?.timer);
    this.#watched.delete(callId);
    const looks = earlier?.looks ?? 0;
    if (looks >= MOST_LOOKS || this.#watched.size >= MOST_CALLS) return;
    const timer = setTimeout(() => {
      this.#watched.set(callId, { timer, looks: looks + 1 });
      void this.#look(callId, alertType);
    }, afterMs);
    timer.unref();
    this.#watched.set(callId, { timer, looks });
  }

  /** The call has ended. */
  forget(callId: CallId): void {
    clearTimeout(this.#watched.get(callId)?.timer);
    this.#watched.delete(callId);
  }
}
