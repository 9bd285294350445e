import { expect, it } from 'vitest';

import { MODES } from './modes.ts';
import { playSeed } from './play-seed.ts';

const FEW_SEEDS = 2;

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
