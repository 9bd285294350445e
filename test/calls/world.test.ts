import { describe, expect, it, vi } from 'vitest';

import { MODES } from './world/modes.ts';
import { play } from './world/world.ts';

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('./world/virtual-sleep.ts');
  return { setTimeout: virtualSleep };
});
vi.mock('node:crypto', async (importOriginal) => {
  const { randomBytes, randomUUID } = await import('./world/seeded-ids.ts');
  return { ...(await importOriginal<object>()), randomBytes, randomUUID };
});

const FEW_SEEDS = 8;

const whole = (name: string, otherwise: number): number => {
  const value = Number(process.env[name] ?? otherwise);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} is not a whole number from 1`);
  return value;
};
const first = whole('WORLD_SEED', 1);
const count = whole('WORLD_SEEDS', process.env['WORLD_SEED'] === undefined ? FEW_SEEDS : 1);
const seeds = Array.from({ length: count }, (_, index) => first + index);

describe.each(MODES)('everybody is called as promised: $name', (mode) => {
  it.each(seeds)('seed %i', async (seed) => {
    const { broken, story } = await play(seed, mode);
    expect(broken, `seed ${seed}\n${story}\nseed ${seed}: not as promised`).toEqual([]);
  });
});

it.each(MODES.filter(({ name }) => name === 'every fault'))('plays a seed the same way again: $name', async (mode) => {
  const { story } = await play(first, mode);
  expect(story.split('\n').length).toBeGreaterThan(20);
  expect((await play(first, mode)).story).toBe(story);
});
