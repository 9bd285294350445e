import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { AlertTypeName } from '../model/alert-types.ts';
import type { CallEvent } from '../model/call-event.ts';
import type { Clock } from '../model/clock.ts';
import { answerOfKey } from '../rules/keys.ts';
import { errorKind, logUnreachable } from './call-log.ts';

/** An event that moves an attempt. */
export type AttemptReport = Omit<CallEvent, 'kind'> & {
  readonly kind: Exclude<CallEvent['kind'], 'tone failed'> | 'spoken to';
};

/** Writes an event down, and does what follows from it. @throws {StorageTrouble} */
export type Take = (event: AttemptReport, alertType: AlertTypeName, log: Log) => Promise<void>;

const MOST_KEPT = 10_000;
const KEPT_RETRY_MS = 2_000;

/** What is written down when the table is back: what somebody has heard, and what they answered. A 2 is of no use then. */
export const isKept = ({ kind, key }: AttemptReport): boolean => {
  if (kind !== 'tone received') return kind === 'play completed';
  const answer = answerOfKey(key?.key);
  return answer === 'confirms' || answer === 'cannot go';
};

/**
 * What was reported while the table was away. Until it is written down, other instances may call somebody who has heard; and of a call of another
 * system nobody knows that it is over, if it could not be hung up.
 */
export class KeptReports {
  readonly #take: Take;
  readonly #clock: Clock;
  /** For what happens outside any request. */
  readonly #log: Log;
  readonly #kept: { readonly event: AttemptReport; readonly alertType: AlertTypeName }[] = [];
  #writing: Promise<void> | undefined;

  constructor(take: Take, clock: Clock, log: Log) {
    this.#take = take;
    this.#clock = clock;
    this.#log = log;
  }

  keep(event: AttemptReport, alertType: AlertTypeName): void {
    if (this.#kept.length >= MOST_KEPT) return;
    // Nobody waits any more when it is written down.
    this.#kept.push({ event: { ...event, isAwaiting: undefined }, alertType });
    if (this.#kept.length === 1) this.#writeSoon();
  }

  /** Writes it down. Until that is done, this instance may call somebody who has heard. @throws {StorageTrouble} */
  async write(log: Log): Promise<void> {
    this.#writing ??= this.#writeAll(log).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(log: Log): Promise<void> {
    for (let [kept] = this.#kept; kept !== undefined; [kept] = this.#kept) {
      try {
        await this.#take(kept.event, kept.alertType, log);
      } catch (error) {
        if (error instanceof StorageTrouble) throw error;
        // Its rows cannot be read, or it is a bug: no reason to keep others waiting.
        logUnreachable(error, kept.event, log);
      }
      this.#kept.shift();
    }
  }

  /** Another instance that knows nothing of it may call again: it is written down as soon as the table is back. */
  #writeSoon(): void {
    const write = async (): Promise<void> => {
      try {
        await this.write(this.#log);
      } catch (error) {
        if (!(error instanceof StorageTrouble)) this.#log.error('unexpected error', { kind: errorKind(error) });
        if (this.#kept.length > 0) this.#writeSoon();
      }
    };
    this.#clock.after(KEPT_RETRY_MS, () => void write());
  }
}
