import { expect, it } from 'vitest';

import { play, sumOfSeen } from './history.ts';

const SEEDS = 200;
/** A seed of this world is small: ten of them for one of another world. */
const SEEDS_FOR_ONE = 10;

/** WORLD_SEED says which seed is the first, and WORLD_SEEDS how many there are. */
const { WORLD_SEED: seed, WORLD_SEEDS: seeds } = process.env;
const first = Number(seed ?? 1);
const count = seed === undefined ? (seeds === undefined ? SEEDS : SEEDS_FOR_ONE * Number(seeds)) : Number(seeds ?? 1);

it('whatever happens to instances and storage, every answer is right at a moment between question and end', async () => {
  let seen = sumOfSeen([]);
  for (let number = first; number < first + count; number += 1) {
    const { broken, seen: ofSeed } = await play(number);
    seen = sumOfSeen([seen, ofSeed]);
    if (broken.length === 0) continue;
    const { story } = await play(number, { isTold: true });
    expect(broken, `${story}\nnode --import tsx test/worlds/counting/soak.ts --seed ${number}`).toEqual([]);
  }
  if (count < SEEDS) return;
  const { undecided, ...happened } = seen;
  expect(Math.min(...Object.values(happened)), JSON.stringify(seen)).toBeGreaterThan(0);
  expect(undecided, 'every answer is decided').toBeLessThan(seen.answers / 1_000);
}, 3_600_000);

it('plays a seed the same way again', async () => {
  const { story } = await play(1, { isTold: true });
  expect(story.split('\n').length).toBeGreaterThan(20);
  expect((await play(1, { isTold: true })).story).toBe(story);
});
