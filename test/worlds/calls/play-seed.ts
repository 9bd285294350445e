import type { Played } from '../seeds.ts';
import type { Mode } from './modes.ts';
import { type Broken, brokenPromises, isLeftLive } from './promises.ts';
import { brokenPromisesOfTwilio } from './twilio-promises.ts';
import { TwilioWorld } from './twilio-world.ts';
import { inWorld, type ServiceWorld, World } from './world.ts';

// A seed: several instances, a telephone network, senders, and the faults of the mode. Then a calm time, after which everything must have ended.

const WITH_FAULTS_MS = 15 * 60_000;
const CALM_MS = 50 * 60_000;
// All late, repeated and spontaneous events come within this time after the end.
const AFTERWARDS_MS = 6 * 60_000;
const POISONED_WITHIN_MS = 60_000;
const CLOSED_WITHIN_MS = 200_000;

/** No work is due, and no line is open. */
const isOver = (world: ServiceWorld): boolean =>
  world.hasNoOpenCall &&
  world.senders.sent.every(({ answers }) => answers.length > 0) &&
  !world.rows.some((row) => isLeftLive(row, world));

/** @param judge names the broken promises at the end */
const playOut = async <Own extends ServiceWorld>(
  world: Own,
  judge: (world: Own) => Promise<Broken>,
): Promise<Played> => {
  const { chance, senders, worldLog, mode } = world;
  const { poison } = mode;
  senders.sendSome();
  const poisonOne = () => {
    const sent = chance.anyOf(senders.sent);
    if (poison !== undefined && sent !== undefined) void world.poison(sent, poison);
  };
  if (poison !== undefined) setTimeout(poisonOne, chance.between(1_000, POISONED_WITHIN_MS));
  const closeOne = () => world.instances.living.slice(0, 1).forEach((instance) => world.instances.close(instance));
  for (let count = 0; count < mode.closings; count += 1) setTimeout(closeOne, chance.between(1_000, CLOSED_WITHIN_MS));
  await world.pass(WITH_FAULTS_MS);
  world.conditions.calmDown();
  worldLog.add(() => 'calm');
  const calmUntil = world.now + CALM_MS;
  while (world.now < calmUntil && !isOver(world)) await world.pass(60_000);
  await world.pass(AFTERWARDS_MS);
  return { broken: await judge(world), log: worldLog.text };
};

/** Plays a seed of a mode. */
export const playSeed = (seed: number, mode: Mode, isLogged: boolean): Promise<Played> =>
  mode.endings === undefined
    ? inWorld(World, String(seed), mode, { isLogged }, async (world) => playOut(world, brokenPromises))
    : inWorld(TwilioWorld, String(seed), mode, { isLogged }, async (world) => playOut(world, brokenPromisesOfTwilio));
