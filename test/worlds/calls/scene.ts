import { expect, it, vi } from 'vitest';

import type { CallId } from '../../../src/calls/model/ids.ts';
import type { CallRequest } from '../../../src/calls/model/phone-provider.ts';
import type { Fate } from './callees.ts';
import type { Death } from './ground.ts';
import { type Mode, QUIET } from './modes.ts';
import type { FateOf } from './network.ts';
import { twoAtOnce } from './promises.ts';
import { UnreliableProvider } from './unreliable-provider.ts';
import { inWorld, World } from './world.ts';

// A scene is a quiet world in which all callees listen, with the differences that the test names.

// Time is virtual: the seconds that a test takes depend on the machine alone.
vi.setConfig({ testTimeout: 600_000 });

/** How a scene differs from a quiet world. */
export interface Scene extends Partial<Mode> {
  /** The behavior of callees, by their index in the group, and by how often they were called before. */
  readonly callees?: Readonly<Record<number, Fate | readonly Fate[]>> | FateOf;
  readonly death?: Death;
}

const fateOfAll =
  (callees: NonNullable<Scene['callees']>): FateOf =>
  (number, earlier) => {
    if (typeof callees === 'function') return callees(number, earlier);
    const fate = callees[Number(number.slice(-3))] ?? 'listens';
    return typeof fate === 'string' ? fate : (fate[earlier] ?? 'listens');
  };

/** Plays a scene. Nothing unexpected happens in any scene, and no number has two calls at a time. */
export const play = <Result>(
  name: string,
  { callees = {}, death, ...mode }: Scene,
  run: (world: World) => Promise<Result>,
): Promise<Result> =>
  inWorld(World, name, { ...QUIET, ...mode }, { fateOf: fateOfAll(callees), death }, async (world) => {
    const result = await run(world);
    expect(world.logged('unexpected error')).toEqual([]);
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

/** From now on, requests for calls are answered so. @param answer may have a call placed */
export const answerCalls = (answer: (request: CallRequest, place: () => Promise<CallId>) => Promise<CallId>): void => {
  // oxlint-disable-next-line typescript/unbound-method
  const { call } = UnreliableProvider.prototype;
  vi.spyOn(UnreliableProvider.prototype, 'call').mockImplementation(async function (this: UnreliableProvider, request) {
    return answer(request, async () => call.bind(this)(request));
  });
};
