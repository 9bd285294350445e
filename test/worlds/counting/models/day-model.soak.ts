import { expect, it } from 'vitest';

import { type BrokenRule, playDay } from './day-model.ts';

const SCHEDULES = 60_000;
/** Schedules within which each broken rule must show. */
const ENOUGH = 6_000;

it('readers, writers and rewrites of one day agree in every order of their requests', () => {
  let [striped, rewrites] = [0, 0];
  for (let seed = 1; seed <= SCHEDULES; seed += 1) {
    const { broken, stripes, rewrites: ofSeed } = playDay(seed);
    expect(broken, `seed ${seed}`).toBeUndefined();
    striped += stripes > 1 ? 1 : 0;
    rewrites += ofSeed;
  }
  expect(Math.min(striped, rewrites), 'schedules with several stripes, and rewrites').toBeGreaterThan(SCHEDULES / 20);
});

it.each<BrokenRule>([
  'day last',
  'number of stripes',
  'touch sealed',
  'seal by etag',
  'marks of stripes',
  'tombstone',
  'second pass',
  'reader heeds marks',
  'writer heeds marks',
  'own hold at the switch',
  'new number for each attempt',
])('the protocol needs the rule: %s', (rule) => {
  const seeds = Array.from({ length: ENOUGH }, (_, index) => index + 1);
  expect(seeds.find((seed) => playDay(seed, rule).broken !== undefined)).toBeDefined();
});
