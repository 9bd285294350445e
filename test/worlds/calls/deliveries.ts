import { ALERT_TYPES } from '../../../src/calls/alert-types.ts';
import type { CallEvent } from '../../../src/calls/call-event.ts';
import type { NetworkCall } from './network.ts';
import type { World } from './world.ts';

const AGAIN_AFTER_MS = 1_000;

/** Brings an event about a call to any one instance, and to another one if that dies before it has answered. */
export const deliver = (world: World, call: NetworkCall, event: CallEvent): void => {
  const again = () => {
    setTimeout(() => deliver(world, call, event), AGAIN_AFTER_MS);
  };
  const instance = world.instances.any();
  if (instance === undefined) {
    again();
    return;
  }
  const { life, phone, log } = instance;
  call.isKnown = true;
  if (event.kind === 'play started') call.startKnownAt ??= world.now;
  if (event.kind === 'create failed') call.reasonKnownAt ??= world.now;
  world.story.tell(() => `${life.name} gets ${event.kind} of ${event.callId}`);
  const handle = async (): Promise<true> => {
    await phone.handle([event], call.request?.alertType ?? ALERT_TYPES[0], log);
    return true;
  };
  void life.do(handle).then((isDone) => isDone ?? again());
};

/** As `deliver`, but events get lost, come twice, and come late, by the conditions. */
export const post = (world: World, call: NetworkCall, event: CallEvent): void => {
  const { chance, conditions, story } = world;
  const { eventLoss, eventRepeat, eventDelay } = conditions.faults;
  const delayMs = () => (chance.happens(eventDelay) ? chance.between(500, 12_000) : chance.between(1, 60));
  if (chance.happens(eventLoss)) story.tell(() => `${event.kind} of ${event.callId} gets lost`);
  else setTimeout(() => deliver(world, call, event), delayMs());
  if (chance.happens(eventRepeat)) setTimeout(() => deliver(world, call, event), delayMs() + chance.between(0, 3_000));
};
