import pLimit from 'p-limit';

import type { Log } from '../log.ts';
import type { AlertType } from './alert-types.ts';
import type { CallEvent } from './call-event.ts';
import type { CallFlow } from './call-flow.ts';
import { errorKind } from './call-log.ts';

// A real callback has one event. More are handled too, within bounds: the sender may be anyone.
const CALLS_AT_A_TIME = 8;
const NO_MORE_AFTER_MS = 60_000;

/** Handles a callback's events: those of one call in order, different calls in parallel. A failure does not stop the other events. */
export const handleCallEvents = async (
  flow: CallFlow,
  events: readonly CallEvent[],
  alertType: AlertType,
  log: Log,
): Promise<void> => {
  const end = performance.now() + NO_MORE_AFTER_MS;
  const byCall = Map.groupBy(events, (event) => event.callId);
  let left = 0;
  await pLimit(CALLS_AT_A_TIME).map(byCall.values(), async (ofOneCall) => {
    for (const event of ofOneCall) {
      if (performance.now() >= end) {
        left += 1;
        continue;
      }
      try {
        await flow.handle(event, alertType, log);
      } catch (error) {
        log.error('unexpected error', { call_id: event.callId, event_kind: event.kind, kind: errorKind(error) });
      }
    }
  });
  if (left > 0) log.error('callback events left', { events: left, reason: 'no time left' });
};
