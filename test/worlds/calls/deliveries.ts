import { ALERT_TYPES } from '../../../src/calls/model/alert-types.ts';
import type { CallEvent } from '../../../src/calls/model/phone-line.ts';
import type { Ground } from './ground.ts';
import type { Instances } from './instances.ts';
import type { NetworkCall, Post } from './network.ts';

const AGAIN_AFTER_MS = 1_000;

/**
 * Brings each event to any one instance, and to another one if that dies before it has answered. Events get lost, come twice, and come
 * late, by the conditions.
 */
export const deliverTo = (instances: () => Instances, ground: Ground): Post => {
  const { chance, conditions, story } = ground;
  const deliver = (call: NetworkCall, event: CallEvent): void => {
    const again = () => {
      setTimeout(() => deliver(call, event), AGAIN_AFTER_MS);
    };
    const instance = instances().any();
    if (instance === undefined) {
      if (!instances().isEnded) again();
      return;
    }
    const { life, phone, log } = instance;
    call.isKnown = true;
    if (event.kind === 'connected') call.answerKnownAt ??= ground.now;
    if (event.kind === 'play started') call.startKnownAt ??= ground.now;
    if (event.kind === 'create failed') call.reasonKnownAt ??= ground.now;
    story.tell(() => `${life.name} gets ${event.kind} of ${event.callId}`);
    const handle = async () => phone.handle([event], call.request?.alertType ?? ALERT_TYPES[0], log);
    void life.do(handle).then((isStored) => {
      const key = event.key && call.keys[event.key.sequence - 1];
      if (isStored === undefined) again();
      else if (isStored && key !== undefined) key.takenAt ??= ground.now;
    });
  };
  return (call, event, how) => {
    if (how === 'at once') {
      deliver(call, event);
      return;
    }
    const { eventLoss, eventRepeat, eventDelay } = conditions.faults;
    const delayMs = () => (chance.happens(eventDelay) ? chance.between(500, 12_000) : chance.between(1, 60));
    if (chance.happens(eventLoss)) story.tell(() => `${event.kind} of ${event.callId} gets lost`);
    else setTimeout(() => deliver(call, event), delayMs());
    if (chance.happens(eventRepeat)) setTimeout(() => deliver(call, event), delayMs() + chance.between(0, 3_000));
  };
};
