import { expect, it } from 'vitest';

import { play, type Seen, sumOfSeen } from './history.ts';

/** WORLD_SEED says which seed is the first, and WORLD_SEEDS how many of another world are played. The seeds of counting are small: ten for one. */
const { WORLD_SEED: seed, WORLD_SEEDS: seeds } = process.env;
const first = Number(seed ?? 1);
const count = 10 * Number(seeds ?? (seed === undefined ? 10 : 0.1));

it('whatever happens to instances and storage, every answer is right at a moment between question and end', async () => {
  const seen: Seen[] = [];
  for (let number = first; number < first + count; number += 1) {
    const { broken, seen: ofSeed } = await play(number);
    seen.push(ofSeed);
    if (broken.length === 0) continue;
    const { story } = await play(number, true);
    expect(broken, `${story}\nnode --import tsx test/worlds/counting/soak.ts --seed ${number}`).toEqual([]);
  }
  if (count < 100) return;
  const { undecided, ...happened } = sumOfSeen(seen);
  expect(Math.min(...Object.values(happened)), JSON.stringify(happened)).toBeGreaterThan(0);
  expect(undecided, 'every answer is decided').toBeLessThan(Number(happened['answers']) / 1_000);
}, 3_600_000);

it('plays a seed the same way again', async () => {
  const { story } = await play(1, true);
  expect(story.split('\n').length).toBeGreaterThan(20);
  expect((await play(1, true)).story).toBe(story);
});
