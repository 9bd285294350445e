import type { CallEvent } from '../../../src/calls/call-event.ts';
import { handleCallEvents } from '../../../src/calls/handle-call-events.ts';
import type { Conditions } from './conditions.ts';
import type { Instances } from './instances.ts';
import type { NetworkCall, Post } from './network.ts';
import type { Chance } from './random.ts';
import type { Story } from './story.ts';

const AGAIN_AFTER_MS = 1_000;

/**
 * Brings each event to any instance, and to another one if that dies before it has answered. Events get lost, come twice, and come
 * late, by the conditions.
 */
export const deliverTo = (instances: Instances, conditions: Conditions, chance: Chance, story: Story): Post => {
  const deliver = (call: NetworkCall, event: CallEvent): void => {
    const again = () => {
      setTimeout(() => deliver(call, event), AGAIN_AFTER_MS);
    };
    const instance = instances.any();
    if (instance === undefined) {
      again();
      return;
    }
    const { number, life, phone, log } = instance;
    call.isKnown = true;
    story.tell(`#${number} gets ${event.kind} of ${event.callId}`);
    void life.orElse(handleCallEvents(phone.flow, [event], call.request.alertType, log), again);
  };
  return (call, kind, result = {}) => {
    const event: CallEvent = { kind, callId: call.id, result, attempt: call.request.attempt };
    const { eventLoss, eventRepeat, eventDelay } = conditions.faults;
    const delayMs = () => (chance.happens(eventDelay) ? chance.between(500, 12_000) : chance.between(0, 60));
    if (chance.happens(eventLoss)) story.tell(`${kind} of ${call.id} gets lost`);
    else setTimeout(() => deliver(call, event), delayMs());
    if (chance.happens(eventRepeat)) setTimeout(() => deliver(call, event), delayMs() + chance.between(0, 3_000));
  };
};
