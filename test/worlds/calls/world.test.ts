import { expect, it } from 'vitest';

import { type Mode, MODES } from './modes.ts';
import { brokenPromises, isLeftLive } from './promises.ts';
import { inWorld, type World } from './world.ts';

// Each seed: several instances, a telephone network, senders, and the faults of the mode. Then a calm time, after which everything must have ended.

const WITH_FAULTS_MS = 15 * 60_000;
const CALM_MS = 50 * 60_000;
// All late, repeated and spontaneous events come within this time after the end.
const AFTERWARDS_MS = 6 * 60_000;
const FEW_SEEDS = 2;

/** No work is due, and no line is open. */
const isOver = ({ rows, network, senders }: World): boolean =>
  network.calls.every(({ state }) => state === 'ended') &&
  senders.sent.every(({ answers }) => answers.length > 0) &&
  !rows.some(isLeftLive);

/** @returns the broken promises, and the story of the world */
const playSeed = (seed: number, mode: Mode, isTold = false) =>
  inWorld(String(seed), mode, { isTold }, async (world) => {
    world.senders.sendSome();
    await world.pass(WITH_FAULTS_MS);
    world.conditions.calmDown();
    world.story.tell(() => 'calm');
    const calmUntil = world.now + CALM_MS;
    while (world.now < calmUntil && !isOver(world)) await world.pass(60_000);
    await world.pass(AFTERWARDS_MS);
    return { broken: await brokenPromises(world), story: world.story.text };
  });

const whole = (name: string, otherwise: number): number => {
  const value = Number(process.env[name] ?? otherwise);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} is not a whole number from 1`);
  return value;
};
const first = whole('WORLD_SEED', 1);
const count = whole('WORLD_SEEDS', process.env['WORLD_SEED'] === undefined ? FEW_SEEDS : 1);

it.each(MODES)('everybody is called as promised: $name', { timeout: 3_600_000 }, async (mode) => {
  for (let seed = first; seed < first + count; seed += 1) {
    const { broken } = await playSeed(seed, mode);
    if (broken.length === 0) continue;
    const { story } = await playSeed(seed, mode, true);
    const replay = `WORLD_SEED=${seed} npx vitest run test/worlds/calls -t '${mode.name}'`;
    expect(broken, `${story}\nseed ${seed} is not as promised; again: ${replay}`).toEqual([]);
  }
});
