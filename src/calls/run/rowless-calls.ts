import { LRUCache } from 'lru-cache';
import type { AlertType } from '../model/alert-types.ts';
import { type CallId, MESSAGE } from '../model/ids.ts';
import type { CallEvent, PhoneLine } from '../model/phone-line.ts';
import { logNotPlayed, resultFields } from './call-log.ts';
import { resultOf } from './line-requests.ts';
import type { Log } from '../../log.ts';

/** The calls of the last hours; each is a text of 40 characters. */
const MOST_REMEMBERED = 10_000;

/**
 * The one rule for calls without a row: calls of other systems, and all calls while storage cannot be used. When somebody answers, the
 * message is spoken, once a call and process; at the end of the message the line is hung up. Nothing is stored, now or later.
 */
export class RowlessCalls {
  readonly #line: PhoneLine;
  readonly #spokenTo = new LRUCache<CallId, true>({ max: MOST_REMEMBERED });

  constructor(line: PhoneLine) {
    this.#line = line;
  }

  /** Does what an event asks for. Never throws. @param text what is spoken */
  async handle(event: CallEvent, text: string, alertType: AlertType, log: Log): Promise<void> {
    const { media } = this.#line;
    const { kind, callId, speech = MESSAGE } = event;
    // A call whose message went with the call request speaks and ends by itself.
    if (media === undefined) return;
    const fields = { call_id: callId, alert_type: alertType.name };
    if (kind === 'connected' && !this.#spokenTo.has(callId)) {
      this.#spokenTo.set(callId, true);
      try {
        await media.speak(callId, text, event.attempt && { ...event.attempt, speech });
        log.info('message playing', fields);
      } catch (error) {
        const result = resultOf(error);
        // It may be speaking all the same.
        if (result.failure === 'unanswered') return;
        logNotPlayed(result, fields, log);
        await this.#hangUp(callId, fields, log);
      }
    } else if (kind === 'play completed' || kind === 'play failed' || kind === 'play canceled') {
      if (kind === 'play failed') logNotPlayed(event.result, fields, log);
      await this.#hangUp(callId, fields, log);
    }
  }

  async #hangUp(callId: CallId, fields: object, log: Log): Promise<void> {
    try {
      await this.#line.hangUp(callId, true);
      log.info('call hung up', { ...fields });
    } catch (error) {
      log.error('hang-up failed', { ...fields, ...resultFields(resultOf(error)) });
    }
  }
}
