/**
 * Plays seeds of a mode of the world of calls until a seed is broken, and prints its log. It always prints the log of a single seed.
 *
 *     node --import tsx test/worlds/calls/soak.ts --mode 'lost events' --seed 438
 *     node --import tsx test/worlds/calls/soak.ts --seeds 1000
 */
import { parseArgs } from 'node:util';

import { MODES } from './modes.ts';
import { playSeed } from './play-seed.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    /** Only the modes whose name begins with this text. */
    mode: { type: 'string', default: '' },
  },
});
const [first, seeds] = [Number(values.seed), Number(values.seeds)];
const modes = MODES.filter(({ name }) => name.startsWith(values.mode));

/** @returns whether no seed is broken */
const playSeeds = async (): Promise<boolean> => {
  for (let seed = first; seed < first + seeds; seed += 1) {
    for (const mode of modes) {
      const { broken } = await playSeed(seed, mode);
      if (seeds > 1 && broken.length === 0) continue;
      const { story } = await playSeed(seed, mode, true);
      console.log(story);
      for (const line of broken) console.log(`${mode.name}: seed ${seed}: ${line}`);
      return broken.length === 0;
    }
  }
  console.log(`${seeds} seeds, and none is broken`);
  return true;
};

process.exitCode = (await playSeeds()) ? 0 : 1;
