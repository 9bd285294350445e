import { expect, it } from 'vitest';

import { describedPaths, faultsIn, RULES_IN_WORDS } from './described.ts';

// The soak sends thousands of each.
const [EVENTS, NOTIFICATIONS, INVALID] = [1_000, 1_000, 150];

it.each([
  ['events', EVENTS],
  ['notifications', NOTIFICATIONS],
] as const)(
  '%s that are made from the description alone are taken, but for rules that it has in words',
  async (name, count) => {
    const { [name]: path } = await describedPaths();
    const made = path.valid(count);
    expect(made.length).toBeGreaterThan(0.95 * count);
    let taken = 0;
    for (const body of made) {
      const faults = faultsIn(await path.post(body));
      expect(
        faults.filter((fault) => !RULES_IN_WORDS[name].has(fault)),
        JSON.stringify(body),
      ).toEqual([]);
      if (faults.length === 0) taken += 1;
    }
    expect(taken).toBeGreaterThan(0.5 * made.length);
  },
);

it.each(['events', 'notifications'] as const)(
  '%s that it does not describe are answered as described, and never with a 5xx',
  async (name) => {
    const { [name]: path } = await describedPaths();
    const made = path.invalid(INVALID);
    expect(made.length).toBeGreaterThan(INVALID / 2);
    for (const body of made) expect((await path.post(body)).status, JSON.stringify(body)).toBeLessThan(500);
  },
);
