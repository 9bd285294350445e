import { expect, it } from 'vitest';

import type { NotificationBody, RecipientBody } from '../../../src/calls/state/view.ts';
import { type Mode, MODES } from './modes.ts';
import { brokenPromises, isLeftLive } from './promises.ts';
import { idOf, numbersOf } from './senders.ts';
import { inWorld, type World } from './world.ts';

// Each seed: several instances, a telephone network, senders, and the faults of the mode. Then a calm time, after which everything must have ended.

const WITH_FAULTS_MS = 15 * 60_000;
const CALM_MS = 50 * 60_000;
// All late, repeated and spontaneous events come within this time after the end.
const AFTERWARDS_MS = 6 * 60_000;
const LOOKS_EVERY_MS = 10_000;
// A call request without any report may ring for 145 s, and holds a line until then. Then the timer function has its turn.
const WAITS_AT_MOST_MS = 200_000;
// How long a phone may ring after a request without any report.
const UNCLEAR_MS = 160_000;
const FEW_SEEDS = 2;

const isFinal = ({ status }: RecipientBody): boolean => !['waiting', 'ringing', 'speaking'].includes(status);

/** Looks at all notifications again and again. @returns the broken promises, a line each */
const watch = (world: World): readonly string[] => {
  const { senders, dialled, conditions } = world;
  const broken: string[] = [];
  const last = new Map<string, NotificationBody>();
  /** Since when a recipient could have been called. */
  const idleSince = new Map<string, number>();

  // One line is kept for urgent calls, and fewer may be used for a while if calls seem to find none.
  const isLineFree = () => world.openCalls.length === 0 && !conditions.isOutage && !conditions.isSetUpWrong;
  const look = async (): Promise<void> => {
    for (const sent of senders.sent) {
      const id = idOf(sent);
      const before = id && last.get(id);
      if (id === undefined || (before && before.status !== 'in_progress')) continue;
      const view = await world.viewOf(sent);
      if (view === undefined) {
        broken.push(`${id} was answered, and is not there`);
        continue;
      }
      last.set(id, view);
      for (const [index, recipient] of view.recipients.entries()) {
        const { status, next_attempt_at: nextAt = '1970-01-01' } = recipient;
        const earlier = before?.recipients[index];
        if (earlier && isFinal(earlier) && !isFinal(recipient)) broken.push(`${earlier.status} became ${status}`);
        const number = numbersOf(sent.request)[index];
        const mayRing = dialled.some((dial) => dial.number === number && world.now - dial.at < UNCLEAR_MS);
        const isIdle = status === 'waiting' && !mayRing && Date.parse(nextAt) <= world.now && isLineFree();
        const key = `${id} ${index}`;
        const since = isIdle ? (idleSince.get(key) ?? world.now) : world.now;
        idleSince.set(key, since);
        if (world.now - since > WAITS_AT_MOST_MS) broken.push(`${key} has waited beside a free line since ${since}`);
      }
    }
  };
  setInterval(() => void look(), LOOKS_EVERY_MS);
  return broken;
};

/** No work is due, and no line is open. */
const isOver = ({ rows, network, senders }: World): boolean =>
  network.calls.every(({ state }) => state === 'ended') &&
  senders.sent.every(({ answers }) => answers.length > 0) &&
  !rows.some(isLeftLive);

/** @returns the broken promises, and the story of the world */
const playSeed = (seed: number, mode: Mode, isTold = false) =>
  inWorld(String(seed), mode, { isTold }, async (world) => {
    const broken = watch(world);
    world.senders.sendSome();
    await world.pass(WITH_FAULTS_MS);
    world.conditions.calmDown();
    world.story.tell(() => 'calm');
    const calmUntil = world.now + CALM_MS;
    while (world.now < calmUntil && !isOver(world)) await world.pass(60_000);
    await world.pass(AFTERWARDS_MS);
    return { broken: [...broken, ...(await brokenPromises(world))], story: world.story.text };
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
