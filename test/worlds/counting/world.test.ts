import { expect, it } from 'vitest';

import { play, sumOfSeen } from './history.ts';

const MOST_SEEDS = 1_000;
const LEAST_SEEDS = 60;
const MOST_MS = 12_000;
/** A seed of this world is small: ten of them for one of another world. */
const SEEDS_FOR_ONE = 10;

/** `npm test` plays as many seeds as it has time for; WORLD_SEED and WORLD_SEEDS say which and how many without regard to time. */
const chosenSeeds = (): { readonly first: number; readonly count: number; readonly isTimed: boolean } => {
  const { WORLD_SEED: seed, WORLD_SEEDS: seeds } = process.env;
  if (seed !== undefined) return { first: Number(seed), count: Number(seeds ?? 1), isTimed: false };
  if (seeds !== undefined) return { first: 1, count: SEEDS_FOR_ONE * Number(seeds), isTimed: false };
  return { first: 1, count: MOST_SEEDS, isTimed: true };
};

it('whatever happens to instances and storage, every answer is right at a moment between question and end', async () => {
  const { first, count, isTimed } = chosenSeeds();
  const until = performance.now() + MOST_MS;
  let seen = sumOfSeen([]);
  for (let seed = first; seed < first + count; seed += 1) {
    if (isTimed && seed > LEAST_SEEDS && performance.now() > until) break;
    const { broken, seen: ofSeed } = await play(seed);
    seen = sumOfSeen([seen, ofSeed]);
    if (broken.length === 0) continue;
    const { story } = await play(seed, { isTold: true });
    expect(broken, `${story}\nnode --import tsx test/worlds/counting/soak.ts --seed ${seed}`).toEqual([]);
  }
  if (count < LEAST_SEEDS) return;
  const { requests: _, undecided, ...happened } = seen;
  expect(Math.min(...Object.values(happened)), JSON.stringify(seen)).toBeGreaterThan(0);
  expect(undecided, 'every answer is decided').toBeLessThan(seen.answers / 1_000);
}, 3_600_000);

it('plays a seed the same way again', async () => {
  const { story } = await play(1, { isTold: true });
  expect(story.split('\n').length).toBeGreaterThan(20);
  expect((await play(1, { isTold: true })).story).toBe(story);
});
