import type { Mode } from './modes.ts';
import { brokenPromises, isLeftLive } from './promises.ts';
import { inWorld, type World } from './world.ts';

// A seed: several instances, a telephone network, senders, and the faults of the mode. Then a calm time, after which everything must have ended.

const WITH_FAULTS_MS = 15 * 60_000;
const CALM_MS = 50 * 60_000;
// All late, repeated and spontaneous events come within this time after the end.
const AFTERWARDS_MS = 6 * 60_000;
const POISONED_WITHIN_MS = 90_000;

/** No work is due, and no line is open. */
const isOver = (world: World): boolean =>
  world.network.calls.every(({ state }) => state === 'ended') &&
  world.senders.sent.every(({ answers }) => answers.length > 0) &&
  !world.rows.some((row) => isLeftLive(row, world));

/** @returns the broken promises, and the story of the world */
export const playSeed = (seed: number, mode: Mode, isTold = false) =>
  inWorld(String(seed), mode, { isTold }, async (world) => {
    const { chance, senders, story } = world;
    senders.sendSome();
    const { poison } = mode;
    const poisonOne = () => {
      const sent = chance.anyOf(senders.sent);
      if (poison !== undefined && sent !== undefined) void world.poison(sent, poison);
    };
    if (poison !== undefined) setTimeout(poisonOne, chance.between(1_000, POISONED_WITHIN_MS));
    await world.pass(WITH_FAULTS_MS);
    world.conditions.calmDown();
    story.tell(() => 'calm');
    const calmUntil = world.now + CALM_MS;
    while (world.now < calmUntil && !isOver(world)) await world.pass(60_000);
    await world.pass(AFTERWARDS_MS);
    return { broken: await brokenPromises(world), story: story.text };
  });
