import { type AlertTypeName, findAlertType } from '../../../src/calls/model/alert-types.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { NotificationRequest } from '../../../src/calls/phone.ts';
import { someNumber, type SentRequest } from './senders.ts';
import type { World } from './world.ts';

// What the scenes of this world ask for, and how they ask what became of it.

/** The first people of a group: each group has other numbers. */
export const people = (count: number, group = 0): PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => someNumber(group, index));

/** A request to phone people: one list of numbers a wave. */
export const to = (
  waves: readonly (readonly PhoneNumber[])[],
  alertType: AlertTypeName = 'ConfirmedFire',
  more: Partial<NotificationRequest> = {},
): NotificationRequest => {
  const type = findAlertType(alertType);
  if (type === undefined) throw new Error(`no alert type ${alertType}`);
  return { alertType: type, waves: waves.map((wave) => wave.map((number) => ({ number }))), ...more };
};

/** The status of each recipient, in the order of the request. */
export const statuses = async (world: World, sent: SentRequest): Promise<readonly string[]> =>
  (await world.viewOf(sent))?.recipients.map(({ status }) => status) ?? [];

/** The calls of the world to a number. */
export const callsTo = (world: World, number: PhoneNumber | undefined) =>
  world.network.calls.filter(({ request }) => request?.number === number);
