import { expect, it } from 'vitest';

import { playSeeds } from '../seeds.ts';
import { play, sumOfSeen } from './history.ts';

const again = (seed: number) => `node --import tsx test/worlds/soak.ts counting --seed ${seed}`;

it('whatever happens to instances and storage, every answer is right at a moment between question and end', async () => {
  const { results, broken, log } = await playSeeds(100, play, again, 10);
  expect(broken, log).toEqual([]);
  if (results.length < 100) return;
  const { undecided, ...happened } = sumOfSeen(results.map(({ seen }) => seen));
  expect(Math.min(...Object.values(happened)), JSON.stringify(happened)).toBeGreaterThan(0);
  expect(undecided, 'every answer is decided').toBeLessThan(Number(happened['answers']) / 1_000);
}, 3_600_000);

it('plays a seed the same way again', async () => {
  const { log } = await play(1, true);
  expect(log.split('\n').length).toBeGreaterThan(20);
  expect((await play(1, true)).log).toBe(log);
});
