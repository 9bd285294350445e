import { expect, it } from 'vitest';

import { play, type Seen } from './history.ts';

const MOST_SEEDS = 1_000;
const LEAST_SEEDS = 60;
const MOST_MS = 12_000;

it('whatever happens to instances and storage, every answer is right at a moment between question and end', async () => {
  const until = performance.now() + MOST_MS;
  const seen: Record<string, number> = {};
  for (let seed = 1; seed <= MOST_SEEDS && (seed <= LEAST_SEEDS || performance.now() < until); seed += 1) {
    const { broken, seen: ofSeed } = await play(seed);
    for (const [name, count] of Object.entries(ofSeed)) seen[name] = (seen[name] ?? 0) + count;
    if (broken.length === 0) continue;
    const { story } = await play(seed, { isTold: true });
    expect(broken, `${story}\nnpm run soak -- --world counting --seed ${seed}`).toEqual([]);
  }
  const happened: (keyof Seen)[] = ['answers', 'contended', 'deaths', 'stripes', 'closedDays', 'repairs'];
  for (const name of happened) expect(seen[name], name).toBeGreaterThan(0);
  expect(seen['undecided'], 'every answer is decided').toBeLessThan((seen['answers'] ?? 0) / 1_000);
}, 120_000);

it('plays a seed the same way again', async () => {
  const { story } = await play(1, { isTold: true });
  expect(story.split('\n').length).toBeGreaterThan(20);
  expect((await play(1, { isTold: true })).story).toBe(story);
});
