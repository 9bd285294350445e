import { LRUCache } from 'lru-cache';

import type { CallId } from '../../model/ids.ts';
import type { SpeechNumber } from '../../model/speech.ts';

/** What the service asks a call to do now. */
export type Command =
  | { readonly kind: 'speak'; readonly text: string; readonly speech: SpeechNumber; readonly hasKeys: boolean }
  | { readonly kind: 'listen' }
  | { readonly kind: 'hang up' };

// Of the calls of the last minutes.
const MOST_ANSWERED = 5_000;

/**
 * Requests of Twilio that wait for what a call is to do now. What the line is asked for such a call is the answer to that request: the rest of the
 * service does not know that it does not go out as a request of its own.
 */
export class OpenRequests {
  readonly #waiting = new Map<CallId, (command: Command) => void>();
  /** What was answered last, by this process. */
  readonly #answered = new LRUCache<CallId, Command>({ max: MOST_ANSWERED });

  /** Fulfils with the first command for the call; a later request of the same call takes its place. */
  async wait(callId: CallId): Promise<Command> {
    return new Promise((resolve) => {
      this.#waiting.set(callId, (command) => {
        this.#waiting.delete(callId);
        this.#answered.set(callId, command);
        resolve(command);
      });
    });
  }

  /** Nobody waits any more. */
  close(callId: CallId): void {
    this.#waiting.delete(callId);
  }

  /** Whether this process has told the call what to do: it was answered. */
  isKnown(callId: CallId): boolean {
    return this.#answered.has(callId);
  }

  /** @returns whether somebody waited for it, or has been answered the same speech before: then it is being said */
  answer(callId: CallId, command: Command): boolean {
    const answer = this.#waiting.get(callId);
    if (answer !== undefined) {
      answer(command);
      return true;
    }
    const last = this.#answered.peek(callId);
    return command.kind === 'speak' && last?.kind === 'speak' && last.speech === command.speech;
  }
}
