import { expect, it } from 'vitest';

import { describedPaths, faultsIn, RULES_IN_WORDS } from './described.ts';

const COUNT = 2_000;

it.each(['events', 'notifications'] as const)(
  '%s: thousands that the description allows, and thousands that it does not',
  async (name) => {
    const { [name]: path } = await describedPaths();
    const [valid, invalid] = [path.valid(COUNT), path.invalid(COUNT + COUNT / 2)];
    expect([valid.length, invalid.length >= COUNT]).toEqual([COUNT, true]);
    for (const body of valid) {
      const faults = faultsIn(await path.post(body));
      expect(
        faults.filter((fault) => !RULES_IN_WORDS[name].has(fault)),
        JSON.stringify(body),
      ).toEqual([]);
    }
    for (const body of invalid) expect((await path.post(body)).status, JSON.stringify(body)).toBeLessThan(500);
  },
);
