import { brokenPromises, isLeftLive } from './promises.ts';
import { Sampler } from './sampler.ts';
import type { Mode } from './modes.ts';
import { inWorld, type World } from './world.ts';

/** What playing a seed came to. */
export interface Played {
  /** Empty if everything held. */
  readonly broken: readonly string[];
  readonly story: string;
}

const WITH_FAULTS_MS = 15 * 60_000;
const CALM_MS = 50 * 60_000;
// Whatever comes late, or again, or of its own accord, comes within this time after the end.
const AFTERWARDS_MS = 6 * 60_000;

/**
 * Plays one seed: several instances of the service, a telephone network, senders, and the faults of the mode; then a calm time without
 * faults, after which everything must have come to its end.
 */
export const playSeed = (seed: number, mode: Mode, isTold = false): Promise<Played> =>
  inWorld(String(seed), mode, { isTold }, async (world) => {
    const { senders, network, chance } = world;
    const sampler = new Sampler(world);
    sampler.start();
    senders.sendSome();
    for (let count = 0; count < mode.foreignCalls; count += 1) {
      setTimeout(() => network.callOfAnotherSystem(), chance.between(0, 300_000));
    }
    for (let count = 0; count < mode.forgeries; count += 1) {
      setTimeout(() => forgeOne(world), chance.between(1_000, 200_000));
    }
    await world.pass(WITH_FAULTS_MS);
    world.conditions.calmDown();
    world.story.tell(() => 'calm');
    const calmUntil = world.now + CALM_MS;
    while (world.now < calmUntil && !isOver(world)) await world.pass(60_000);
    await world.pass(AFTERWARDS_MS);
    return { broken: [...sampler.broken, ...(await brokenPromises(world))], story: world.story.text };
  });

/** Nothing is due any more, and no line is open. */
const isOver = ({ rows, network, senders }: World): boolean =>
  network.calls.every(({ state }) => state === 'ended') &&
  senders.sent.every(({ answers }) => answers.length > 0) &&
  rows.every((row) => !isLeftLive(row));

/** A ringing call is reported to be spoken to, or over; or a key to have been pressed. */
const forgeOne = ({ network, chance }: World): void => {
  const ringing = chance.anyOf(network.calls.filter(({ state }) => state === 'ringing'));
  if (ringing === undefined) return;
  const kind = chance.anyOf(['play completed', 'play started', 'tone received', 'play completed'] as const);
  const ref = chance.happens(0.5) ? ringing.request?.attempt : undefined;
  if (kind !== undefined) network.forge(ringing, kind, ref);
};
