import { expect, it, vi } from 'vitest';

import { type AlertTypeName, alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { NotificationRequest } from '../../../src/calls/phone.ts';
import type { NotificationBody } from '../../../src/calls/state/view.ts';
import type { Fate } from './callees.ts';
import { BEGINNING, type Death } from './ground.ts';
import { type Mode, QUIET } from './modes.ts';
import type { FateOf, NetworkCall } from './network.ts';
import { twoAtOnce } from './promises.ts';
import { someNumber, type SentRequest } from './senders.ts';
import { inWorld, type ServiceWorld, type World } from './world.ts';

// A scene is a quiet world in which all callees listen, with the differences that the test names.

// Time is virtual: the seconds that a test takes depend on the machine alone.
vi.setConfig({ testTimeout: 600_000 });

/** How a scene differs from a quiet world. */
export interface Scene extends Partial<Mode> {
  /** What callees do, by their index in the group, and by how often they were called before. */
  readonly callees?: Readonly<Record<number, Fate | readonly Fate[]>> | FateOf;
  readonly death?: Death;
}

const fateOfAll =
  (callees: NonNullable<Scene['callees']>): FateOf =>
  (number, earlier) => {
    if (typeof callees === 'function') return callees(number, earlier);
    const fate = callees[Number(number?.slice(-3))] ?? 'listens';
    return typeof fate === 'string' ? fate : (fate[earlier] ?? 'listens');
  };

/** Plays a scene. Nothing unexpected happens in any scene, and no number has two calls at a time. */
export const play = <Result>(
  name: string,
  { callees = {}, death, ...mode }: Scene,
  run: (world: World) => Promise<Result>,
): Promise<Result> =>
  inWorld(name, { ...QUIET, ...mode }, { fateOf: fateOfAll(callees), death }, async (world) => {
    const result = await run(world);
    expect(logged(world, 'unexpected error')).toEqual([]);
    expect(twoAtOnce(world)).toEqual([]);
    return result;
  });

/** A test that plays a scene. @param seeds how many times, each time by another chance */
export const scene = (name: string, setting: Scene, run: (world: World) => Promise<void>, seeds = 1): void =>
  it(name, async () => {
    for (let seed = 1; seed <= seeds; seed += 1) await play(`${name} ${seed}`, setting, run);
  });

/** Enough lines for all callees. */
export const ROOM = { lines: 60, callsAtOnce: 60 } as const;

/** Callees answer after some seconds. */
export const SOON = { answersWithinMs: [3_000, 12_000] } as const;

/** The first people of a group. Groups have different numbers. */
export const people = (count: number, group = 0): PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => someNumber(group, index));

/** One list of callees a wave. */
export const wavesOf = (...waves: readonly (readonly PhoneNumber[])[]): NotificationRequest['waves'] =>
  waves.map((wave) => wave.map((number) => ({ number })));

/** Sends a request under its own key. */
export const send = (
  { senders }: ServiceWorld,
  alertType: AlertTypeName,
  numbers: readonly PhoneNumber[],
  more: Partial<NotificationRequest> = {},
): SentRequest =>
  senders.send({ alertType: alertTypeOf(alertType), waves: wavesOf(numbers), ...more }, `key ${senders.sent.length}`);

/** A fire is confirmed. */
export const fire = (world: ServiceWorld, numbers = people(1), more?: Partial<NotificationRequest>): SentRequest =>
  send(world, 'ConfirmedFire', numbers, more);

/** An alert that is not urgent. */
export const anomaly = (world: ServiceWorld, numbers = people(1)): SentRequest => send(world, 'Anomaly', numbers);

/** The present state of a notification. */
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

/** How often the whole message was spoken in a call. */
export const wholeSpeeches = ({ speeches }: NetworkCall): number => speeches.filter(({ isWhole }) => isWhole).length;

/** What all instances logged of an event. */
export const logged = ({ instances }: ServiceWorld, event: string) =>
  instances.logs.filter((line) => line.event === event);

/** Lets time pass in small steps, until a condition is true. */
export const until = async (
  world: ServiceWorld,
  isSo: () => boolean | Promise<boolean>,
  mostMs = 120_000,
  stepMs = 20,
): Promise<void> => {
  for (const from = world.now; !(await isSo());) {
    if (world.now - from > mostMs) throw new Error(`not so within ${mostMs} ms`);
    await world.pass(stepMs);
  }
};

/** Waits for the first call of the world. */
export const firstCall = async (world: World): Promise<NetworkCall> => {
  await until(world, () => world.network.calls.length > 0);
  const [call] = world.network.calls;
  if (call === undefined) throw new Error('nobody is called');
  return call;
};

/** How many requests to storage were made so far. */
export const tableRequests = ({ requests }: ServiceWorld): number => requests.filter(({ to }) => to === 'table').length;
