import { expect, it } from 'vitest';

import { playSeeds } from '../seeds.ts';
import { play } from './history.ts';

const again = (seed: number) => `node --import tsx test/worlds/soak.ts counting --seed ${seed}`;

it('whatever happens to instances and storage, every answer is right at a moment between question and end', async () => {
  const { results, broken, log } = await playSeeds(150, play, again, 10);
  expect(broken, log).toEqual([]);
  if (results.length < 150) return;
  const seen = Map.groupBy(
    results.flatMap((result) => Object.entries(result.seen)),
    ([name]) => name,
  );
  const sums = Object.fromEntries(
    Array.from(seen, ([name, all]) => [name, all.reduce((sum, [, count]) => sum + count, 0)]),
  );
  const { undecided = NaN, ...happened } = sums;
  expect(Object.values(happened), JSON.stringify(happened)).not.toContain(0);
  expect(undecided, 'every answer is decided').toBeLessThan((happened['answers'] ?? 0) / 1_000);
}, 3_600_000);

it('plays a seed the same way again', async () => {
  const logs: string[] = [];
  while (logs.length < 2) logs.push((await play(1, true)).log);
  expect(logs[0]?.split('\n').length).toBeGreaterThan(20);
  expect(logs[1]).toBe(logs[0]);
});
