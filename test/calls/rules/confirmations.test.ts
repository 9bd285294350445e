import { expect, it } from 'vitest';

import { areEnough, isNextWaveNeededNow } from '../../../src/calls/rules/confirmations.ts';

it.each([
  [0, undefined, false],
  [1, undefined, true],
  [1, 2, false],
  [2, 2, true],
])('%i confirmations of %s that are needed are enough: %s', (confirmations, needed, isEnough) => {
  expect(areEnough(confirmations, needed)).toBe(isEnough);
});

it.each([
  [0, undefined, true],
  [1, undefined, false],
  [1, 2, true],
  [2, 2, false],
])('if %i can still confirm of %s that are needed, the next wave is called now: %s', (reachable, needed, isNow) => {
  expect(isNextWaveNeededNow(reachable, needed)).toBe(isNow);
});
