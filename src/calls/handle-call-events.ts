import pLimit from 'p-limit';

import type { Log } from '../log.ts';
import type { AlertType } from './alert-types.ts';
import type { CallEvent } from './acs/call-events.ts';
import type { CallFlow } from './call-flow.ts';
import type { CallId } from './call-id.ts';

// ACS sends one event in a callback. More are handled as well, but bounded: the sender may be anyone.
const CALLS_AT_A_TIME = 8;
const NO_MORE_AFTER_MS = 60_000;

/**
 * Does what a callback's events ask for: the events of one call one after the other, different calls side by side. One that
 * goes wrong does not stop the others.
 */
export const handleCallEvents = async (
  flow: CallFlow,
  events: readonly CallEvent[],
  alertType: AlertType,
  log: Log,
): Promise<void> => {
  const end = performance.now() + NO_MORE_AFTER_MS;
  let left = 0;
  await pLimit(CALLS_AT_A_TIME).map(eventsByCall(events), async (ofOneCall) => {
    for (const event of ofOneCall) {
      if (performance.now() >= end) {
        left += 1;
        continue;
      }
      try {
        await flow.handle(event, alertType, log);
      } catch (error) {
        const kind = error instanceof Error ? error.name : typeof error;
        log.error('unexpected error', { call_id: event.callId, event_kind: event.kind, kind });
      }
    }
  });
  if (left > 0) log.error('callback events left', { events: left, reason: 'no time left' });
};

const eventsByCall = (events: readonly CallEvent[]): readonly (readonly CallEvent[])[] => {
  const byCall = new Map<CallId, CallEvent[]>();
  for (const event of events) {
    const ofCall = byCall.get(event.callId);
    if (ofCall === undefined) byCall.set(event.callId, [event]);
    else ofCall.push(event);
  }
  return [...byCall.values()];
};
