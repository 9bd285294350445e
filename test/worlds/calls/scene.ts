import { expect, vi } from 'vitest';

import { type AlertTypeName, alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { NotificationRequest } from '../../../src/calls/phone.ts';
import type { NotificationBody } from '../../../src/calls/state/view.ts';
import { BEGINNING } from './ground.ts';
import type { LogLine } from './instances.ts';
import type { Fate } from './callees.ts';
import { type Mode, QUIET } from './modes.ts';
import type { FateOf, NetworkCall } from './network.ts';
import { someNumber, type SentRequest } from './senders.ts';
import { inWorld, type ServiceWorld, type World, type WorldOptions } from './world.ts';

// A scene: what is said happens, and nothing else. Time is virtual: how long a test takes tells of the machine alone.
vi.setConfig({ testTimeout: 600_000 });

/** How a scene differs from a quiet world in which everybody listens. */
export interface Scene extends Pick<WorldOptions, 'death'> {
  readonly mode?: Partial<Mode>;
  /** What callees do, by their index in the group, and by how often they were called before. */
  readonly fates?: Readonly<Record<number, Fate | readonly Fate[]>> | FateOf;
}

const fateOfAll =
  (fates: NonNullable<Scene['fates']>): FateOf =>
  (number, earlier) => {
    if (typeof fates === 'function') return fates(number, earlier);
    const fate = fates[Number(number?.slice(-3))] ?? 'listens';
    return typeof fate === 'string' ? fate : (fate[earlier] ?? 'listens');
  };

/** Plays a scene. In each of them nothing unexpected happens, and no number has two calls at a time. */
export const play = <Result>(
  name: string,
  { mode, fates = {}, death }: Scene,
  run: (world: World) => Promise<Result>,
): Promise<Result> =>
  inWorld(name, { ...QUIET, ...mode }, { fateOf: fateOfAll(fates), ...(death && { death }) }, async (world) => {
    const result = await run(world);
    expect(logged(world, 'unexpected error')).toEqual([]);
    expect(twoAtOnce(world)).toEqual([]);
    return result;
  });

/** Enough lines for everybody. */
export const ROOM = { lines: 60, callsAtOnce: 60 } as const;

/** Callees pick up soon, but not at once. */
export const SOON = { answersWithinMs: [3_000, 12_000] } as const;

/** The first people of a group: each group has other numbers. */
export const people = (count: number, group = 0): PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => someNumber(group, index));

/** A request to phone people. */
export const alert = (
  alertType: AlertTypeName,
  numbers: readonly PhoneNumber[],
  more: Partial<NotificationRequest> = {},
): NotificationRequest => ({ alertType: alertTypeOf(alertType), waves: wavesOf(numbers), ...more });

/** One list of callees a wave. */
export const wavesOf = (...waves: readonly (readonly PhoneNumber[])[]): NotificationRequest['waves'] =>
  waves.map((wave) => wave.map((number) => ({ number })));

/** Sends a request, each with a key of its own. */
export const send = ({ senders }: ServiceWorld, ...request: Parameters<typeof alert>): SentRequest =>
  senders.send(alert(...request), `key ${senders.sent.length}`);

/** A notification that was taken, as it stands. */
export const bodyOf = async (world: ServiceWorld, sent: SentRequest): Promise<NotificationBody> => {
  const body = await world.viewOf(sent);
  if (body === undefined) throw new Error(`not taken: ${JSON.stringify(sent.answers)}`);
  return body;
};

/** The status of each recipient, in the order of the request. */
export const statuses = async (world: ServiceWorld, sent: SentRequest): Promise<readonly string[]> =>
  (await bodyOf(world, sent)).recipients.map(({ status }) => status);

/** The outcomes of each recipient's attempts. */
export const outcomes = async (world: ServiceWorld, sent: SentRequest): Promise<readonly (readonly unknown[])[]> =>
  (await bodyOf(world, sent)).recipients.map(({ attempts }) => attempts.map(({ outcome }) => outcome));

/** The calls to a number that had a line. */
export const callsTo = ({ network }: World, number: PhoneNumber | undefined): readonly NetworkCall[] =>
  network.calls.filter(({ request, fate }) => request?.number === number && fate !== 'turned away');

/** When a number rang first, in milliseconds from the beginning. */
export const rangAt = (world: World, number: PhoneNumber | undefined): number =>
  Math.min(...callsTo(world, number).map(({ placedAt }) => placedAt)) - BEGINNING;

/** The calls that are ringing or answered. */
export const openCalls = ({ network }: World): readonly NetworkCall[] =>
  network.calls.filter(({ state, request }) => state !== 'ended' && request !== undefined);

/** What all instances logged of an event. */
export const logged = ({ instances }: ServiceWorld, event: string): readonly LogLine[] =>
  instances.logs.filter((line) => line.event === event);

/** Lets time pass in small steps, until something is so. */
export const until = async (world: ServiceWorld, isSo: () => boolean, mostMs = 120_000, stepMs = 20): Promise<void> => {
  for (const from = world.now; !isSo();) {
    if (world.now - from > mostMs) throw new Error(`not so within ${mostMs} ms`);
    await world.pass(stepMs);
  }
};

/** The first call of the world, as soon as there is one. */
export const firstCall = async (world: World): Promise<NetworkCall> => {
  await until(world, () => world.network.calls.length > 0);
  const [call] = world.network.calls;
  if (call === undefined) throw new Error('nobody is called');
  return call;
};

/** How many requests to storage were made so far. */
export const tableRequests = ({ requests }: ServiceWorld): number => requests.filter(({ to }) => to === 'table').length;

/** The numbers that had two calls of the service at the same time. */
const twoAtOnce = ({ network }: World): readonly string[] => {
  const calls = network.calls.filter(({ fate }) => fate !== 'turned away');
  return calls.flatMap(({ request, placedAt }, at) => {
    const isUnder = calls
      .slice(0, at)
      .some((one) => one.request?.number === request?.number && placedAt < (one.endedAt ?? Infinity));
    return request !== undefined && isUnder ? [request.number] : [];
  });
};
