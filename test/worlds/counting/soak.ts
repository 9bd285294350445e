/**
 * Plays seeds of counting's world until a seed is broken, and prints its log. It always prints the log of a single seed.
 *
 *     node --import tsx test/worlds/counting/soak.ts --seed 438
 *     node --import tsx test/worlds/counting/soak.ts --seed 1 --seeds 10000
 */
import { parseArgs } from 'node:util';

import { play } from './history.ts';
import { interfere, scenarios } from './interference.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    /** Plays this scenario of interference.ts in place of seeds. */
    scenario: { type: 'string' },
  },
});
const [first, seeds] = [Number(values.seed), Number(values.seeds)];

/** @returns whether no seed is broken */
const playSeeds = async (): Promise<boolean> => {
  for (let seed = first; seed < first + seeds; seed += 1) {
    if (seeds > 1 && (await play(seed)).broken.length === 0) continue;
    const { broken, story } = await play(seed, true);
    console.log(story);
    for (const line of broken) console.log(`seed ${seed}: ${line}`);
    return broken.length === 0;
  }
  console.log(`${seeds} seeds, and none is broken`);
  return true;
};

let isWhole = true;
if (values.scenario === undefined) isWhole = await playSeeds();
else {
  for (const scenario of scenarios.filter((name) => name === values.scenario)) {
    await interfere(scenario).catch((error: unknown) => console.log(`${scenario}: ${String(error)}`));
  }
}
// A broken world may still wait, and would keep the process alive.
process.exit(isWhole ? 0 : 1);
