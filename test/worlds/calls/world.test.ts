import { expect, it } from 'vitest';

import { playSeeds } from '../seeds.ts';
import { MODES } from './modes.ts';
import { playSeed } from './play-seed.ts';

it.each(MODES)('everybody is called as promised: $name', { timeout: 3_600_000 }, async (mode) => {
  const again = (seed: number) => `WORLD_SEED=${seed} npx vitest run test/worlds/calls -t '${mode.name}'`;
  const { broken, log } = await playSeeds(2, async (seed, isLogged) => playSeed(seed, mode, isLogged), again);
  expect(broken, log).toEqual([]);
});
