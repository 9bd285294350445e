import { LRUCache } from 'lru-cache';
import type { AlertType } from '../model/alert-types.ts';
import { type CallId, MESSAGE } from '../model/ids.ts';
import type { CallEvent, PhoneProvider } from '../model/phone-provider.ts';
import { logNotPlayed, resultOf } from './call-log.ts';
import type { Log, LogFields } from '../../log.ts';

/** The calls of the last hours; each is a text of 40 characters. */
const MOST_REMEMBERED = 10_000;

/**
 * The rule for calls without a row: calls of other systems, and all calls while storage cannot be used. When a callee answers, the message
 * is spoken, once per call and process. At its end the line is hung up. Nothing is stored.
 */
export const rowlessCalls = (
  { media }: PhoneProvider,
  hangUp: (callId: CallId, fields: LogFields, log: Log) => Promise<unknown>,
) => {
  const spokenTo = new LRUCache<CallId, true>({ max: MOST_REMEMBERED });

  /** Handles an event. Never throws. @param text the message */
  return async (event: CallEvent, text: string, alertType: AlertType, log: Log): Promise<void> => {
    const { kind, callId, speech = MESSAGE } = event;
    // If the message went with the call request, the call speaks and ends by itself.
    if (media === undefined) return;
    const fields = { call_id: callId, alert_type: alertType.name };
    if (kind === 'connected' && !spokenTo.has(callId)) {
      spokenTo.set(callId, true);
      try {
        await media.speak(callId, text, event.attempt && { ...event.attempt, speech });
        log.info('message playing', fields);
      } catch (error) {
        const result = resultOf(error);
        // The message may be playing.
        if (result.failure === 'unanswered') return;
        logNotPlayed(result, fields, log);
        await hangUp(callId, fields, log);
      }
    } else if (kind === 'play completed' || kind === 'play failed' || kind === 'play canceled') {
      if (kind === 'play failed') logNotPlayed(event.result, fields, log);
      await hangUp(callId, fields, log);
    }
  };
};
