import { LRUCache } from 'lru-cache';
import type { AlertType } from '../model/alert-types.ts';
import { type CallId, MESSAGE } from '../model/ids.ts';
import type { CallEvent, PhoneLine } from '../model/phone-line.ts';
import { logNotPlayed } from './call-log.ts';
import { type LineRequests, resultOf } from './line-requests.ts';
import type { Log } from '../../log.ts';

/** The calls of the last hours; each is a text of 40 characters. */
const MOST_REMEMBERED = 10_000;

/**
 * The rule for calls without a row: calls of other systems, and all calls while storage cannot be used. When a callee answers, the message
 * is spoken, once a call and process. At its end the line is hung up. Nothing is stored.
 */
export class RowlessCalls {
  readonly #line: PhoneLine;
  readonly #requests: LineRequests;
  readonly #spokenTo = new LRUCache<CallId, true>({ max: MOST_REMEMBERED });

  constructor(line: PhoneLine, requests: LineRequests) {
    this.#line = line;
    this.#requests = requests;
  }

  /** Handles an event. Never throws. @param text the message */
  async handle(event: CallEvent, text: string, alertType: AlertType, log: Log): Promise<void> {
    const { media } = this.#line;
    const { kind, callId, speech = MESSAGE } = event;
    // If the message went with the call request, the call speaks and ends by itself.
    if (media === undefined) return;
    const fields = { call_id: callId, alert_type: alertType.name };
    if (kind === 'connected' && !this.#spokenTo.has(callId)) {
      this.#spokenTo.set(callId, true);
      try {
        await media.speak(callId, text, event.attempt && { ...event.attempt, speech });
        log.info('message playing', fields);
      } catch (error) {
        const result = resultOf(error);
        // The message may be playing.
        if (result.failure === 'unanswered') return;
        logNotPlayed(result, fields, log);
        await this.#requests.hangUpCall(callId, true, fields, log);
      }
    } else if (kind === 'play completed' || kind === 'play failed' || kind === 'play canceled') {
      if (kind === 'play failed') logNotPlayed(event.result, fields, log);
      await this.#requests.hangUpCall(callId, true, fields, log);
    }
  }
}
